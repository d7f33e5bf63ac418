// layer/pool.hpp - `MaxPool<3, Stride<2>>`, `AvgPool<2>`: windows of K x K, side by side unless a stride is given.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../op/pool.hpp"
#include "conv.hpp"

namespace cleave {

template <int K, class... Policies>
struct MaxPool : layer::Chain<op::MaxWindow<K, layer::number_in<Stride, meta::list<Policies...>>::or_(K),
                                            layer::number_in<Pad, meta::list<Policies...>>::or_(0)>> {
  using policies = meta::list<Policies...>;
};

template <int K, class... Policies>
struct AvgPool : layer::Chain<op::MeanWindow<K, layer::number_in<Stride, meta::list<Policies...>>::or_(K),
                                             layer::number_in<Pad, meta::list<Policies...>>::or_(0)>> {
  using policies = meta::list<Policies...>;
};

}  // namespace cleave
