// layer/loss.hpp - the last layer: CrossEntropy (softmax and logarithm in one) or MeanSquaredError.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../op/loss.hpp"
#include "graph.hpp"

namespace cleave {

struct CrossEntropy : layer::Chain<op::SoftmaxCrossEntropy> {};
/// Of numbers that the feed gives, or of classes as 1 at the label's place.
struct MeanSquaredError : layer::Chain<op::SquaredError> {};

}  // namespace cleave
