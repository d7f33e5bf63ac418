// layer/pool.hpp - `MaxPool<3, Stride<2>>`, `AvgPool<2>`: windows of K x K, side by side unless a stride is given; and
// `GlobalAvgPool`.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../op/pool.hpp"
#include "conv.hpp"

namespace cleave {

namespace layer {
template <int K, class P>
using pool_law = pool_sizes_are_positive<K, number_in<Stride, P>::or_(K), number_in<Pad, P>::or_(0)>;
}  // namespace layer

template <int K, class... Policies>
struct MaxPool : layer::Chain<op::MaxWindow<K, layer::number_in<Stride, meta::list<Policies...>>::or_(K),
                                            layer::number_in<Pad, meta::list<Policies...>>::or_(0)>> {
  using policies = meta::list<Policies...>;
  using takes = meta::list<Stride<1>, Pad<0>>;
  using law = layer::pool_law<K, policies>;
};

template <int K, class... Policies>
struct AvgPool : layer::Chain<op::MeanWindow<K, layer::number_in<Stride, meta::list<Policies...>>::or_(K),
                                             layer::number_in<Pad, meta::list<Policies...>>::or_(0)>> {
  using policies = meta::list<Policies...>;
  using takes = meta::list<Stride<1>, Pad<0>>;
  using law = layer::pool_law<K, policies>;
};

/// (c, h, w) to (c, 1, 1): the mean of each channel, whatever the size of the image. As PyTorch's AdaptiveAvgPool2d(1).
struct GlobalAvgPool : layer::Chain<op::ChannelMean> {};

}  // namespace cleave
