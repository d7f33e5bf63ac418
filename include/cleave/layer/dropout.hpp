// layer/dropout.hpp - `Dropout<50>`: in training, each element is zero with a chance of 50 percent.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../op/dropout.hpp"
#include "graph.hpp"

namespace cleave {

template <int Percent> struct Dropout : layer::Chain<op::Drop<Percent>> {
  using law = layer::dropout_keeps_some<Percent>;
};

}  // namespace cleave
