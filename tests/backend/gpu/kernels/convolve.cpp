// backend/gpu/kernels/convolve.cpp - convolutions as implicit products: padding, stride, groups, odd extents.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cleave/backend/gpu/kernels/convolve.hpp>
#include <cleave/layer/activation.hpp>

#include "../compare.hpp"

using namespace cleave;
using namespace cleave::testing;

template <class Op, int Rows, int C, int H, int W> void all() {
  compare_products<Op, local<Op>(Rows, Shape(C, H, W))>();
}

TEST_CASE("padding, strides and groups") {
  all<op::Convolve<8, 3, 1, 1>, 3, 5, 9, 7>();
  all<op::Convolve<8, 3, 2, 1, 2>, 3, 4, 9, 7>();
  all<op::Convolve<6, 5, 1, 0>, 2, 1, 12, 12>();
  all<op::Convolve<4, 1>, 2, 8, 3, 5>();
  all<op::Convolve<4, 4, 3, 2>, 2, 3, 8, 8>();
}
TEST_CASE("its end with bias and map") {
  using Op = op::Convolve<8, 3, 1, 1>;
  compare_products<Op, local<Op>(2, Shape(3, 6, 6)), true, layer::ReluFunction>();
}
