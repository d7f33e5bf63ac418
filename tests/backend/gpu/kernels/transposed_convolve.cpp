// backend/gpu/kernels/transposed_convolve.cpp - transposed convolutions as the products of their adjoints.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cleave/backend/gpu/kernels/transposed_convolve.hpp>
#include <cleave/layer/activation.hpp>

#include "../compare.hpp"

using namespace cleave;
using namespace cleave::testing;

template <class Op, int Rows, int C, int H, int W> void all() {
  compare_products<Op, local<Op>(Rows, Shape(C, H, W))>();
}

TEST_CASE("padding, strides, gaps between windows") {
  all<op::TransposedConvolve<6, 4, 2, 1>, 2, 5, 4, 3>();
  all<op::TransposedConvolve<3, 3, 1, 1>, 2, 4, 5, 6>();
  all<op::TransposedConvolve<4, 2, 3>, 2, 3, 3, 4>();
}
TEST_CASE("its end with bias and map") {
  using Op = op::TransposedConvolve<5, 4, 2, 1>;
  compare_products<Op, local<Op>(2, Shape(3, 4, 4)), true, layer::ReluFunction>();
}
