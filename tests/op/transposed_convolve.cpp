// op/transposed_convolve.cpp - windows in the output that are told by hand; the adjoint of a convolution.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave/op/transposed_convolve.hpp>

#include "operation.hpp"

using namespace cleave;

TEST_CASE("each element adds its window where it lies; what lies in the padding is left out") {
  using Op = op::TransposedConvolve<1, 3, 2, 1>;
  static constexpr op::Local l = test::local<Op>(1, Shape(1, 2, 2));
  static_assert(l.y == Shape(1, 3, 3) && l.w0 == Shape(1, 1, 3, 3));
  std::vector<float> const x{1, 10, 100, 1000}, w{1, 2, 3, 4, 5, 6, 7, 8, 9};
  auto y = test::zeros(9);
  op::Operands<float> t;
  t.x = x.data();
  t.w0 = w.data();
  t.y = y.data();
  Op::forward<l>(test::Serial{}, t);
  CHECK(y == std::vector<float>{5, 46, 50, 208, 1379, 2080, 500, 4600, 5000});
}

static_assert(op::TransposedConvolve<4, 4, 2, 1>::extent(5) == 10 &&
              op::TransposedConvolve<4, 64, 32, 16>::extent(7) == 224);
static_assert(op::TransposedConvolve<4, 3>::weight(0, Shape(2, 5, 5)).fan_in == 18);
// With a row and a column of zeros on each side, and so many rows and columns of its output left out.
static_assert(op::TransposedConvolve<4, 4, 2, 1>::of_padded::pad == 3);
