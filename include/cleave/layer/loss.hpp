// layer/loss.hpp - the last layer: CrossEntropy (softmax and logarithm in one) or MeanSquaredError.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../op/loss.hpp"
#include "graph.hpp"

namespace cleave {

struct CrossEntropy : layer::Chain<op::SoftmaxCrossEntropy> {};
/// With targets of the feed, or with classes as one-hot targets.
struct MeanSquaredError : layer::Chain<op::SquaredError> {};

}  // namespace cleave
