// backend/gpu/kernels/columns.cpp - sums over the batch: where outputs are neighbours, and where terms are.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cleave/backend/gpu/kernels/norms.hpp>

#include "../compare.hpp"

using namespace cleave;
using namespace cleave::testing;

template <class Op> void both() {
  compare_all<Op, local<Op>(19, Shape(45))>();
  compare_all<Op, local<Op>(3, Shape(5, 7, 3))>();
  compare_all<Op, local<Op>(301, Shape(45))>();       // in parts
  compare_all<Op, local<Op>(5, Shape(3, 50, 41))>();  // in parts
}
TEST_CASE("a bias's gradient") { both<op::Bias>(); }
TEST_CASE("the sums that BatchNorm takes") { both<op::BatchSums>(); }
TEST_CASE("GhostBatchNorm: of each slice, forward and back; scales and shifts") {
  both<op::NormaliseMicroBatch>();
  both<op::ScaleAndShift>();
}
TEST_CASE("BatchNorm with its sums, forward, back, and its running statistics") { both<op::Normalise>(); }
