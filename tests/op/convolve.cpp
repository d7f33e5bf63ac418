// op/convolve.cpp - a window that is told by hand: stride, padding, groups.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave/op/convolve.hpp>

#include "operation.hpp"

using namespace cleave;

TEST_CASE("a cross of ones sums neighbours; zeros stand around the image") {
  using Op = op::Convolve<1, 3, 1, 1>;
  static constexpr op::Local l = test::local<Op>(1, Shape(1, 2, 3));
  static_assert(l.y == Shape(1, 2, 3) && l.w0 == Shape(1, 1, 3, 3));
  std::vector<float> const x{1, 2, 3, 4, 5, 6}, w{0, 1, 0, 1, 1, 1, 0, 1, 0};
  auto y = test::zeros(6), dx = y, dw = test::zeros(9);
  op::Operands<float> t;
  t.x = x.data();
  t.w0 = w.data();
  t.y = y.data();
  Op::forward<l>(test::Serial{}, t);
  CHECK(y == std::vector<float>{1 + 2 + 4, 2 + 1 + 3 + 5, 3 + 2 + 6, 4 + 5 + 1, 5 + 4 + 6 + 2, 6 + 5 + 3});
  std::vector<float> const dy{1, 0, 0, 0, 0, 0};
  t.dy = dy.data();
  t.dx = dx.data();
  t.dw0 = dw.data();
  Op::backward_input<l>(test::Serial{}, t);
  CHECK(dx == std::vector<float>{1, 1, 0, 1, 0, 0});  // whom the first window saw
  Op::backward_weight<l>(test::Serial{}, t);
  CHECK(dw == std::vector<float>{0, 0, 0, 0, 1, 2, 0, 4, 5});  // what it saw
}

TEST_CASE("a stride leaves windows out; groups do not see each other") {
  using Op = op::Convolve<2, 1, 2, 0, 2>;
  static constexpr op::Local l = test::local<Op>(1, Shape(2, 3, 3));
  static_assert(l.y == Shape(2, 2, 2) && l.w0 == Shape(2, 1, 1, 1));
  std::vector<float> x(18);
  std::vector<float> const w{10, -1};
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i);
  auto y = test::zeros(8);
  op::Operands<float> t;
  t.x = x.data();
  t.w0 = w.data();
  t.y = y.data();
  Op::forward<l>(test::Serial{}, t);
  CHECK(y == std::vector<float>{0, 20, 60, 80, -9, -11, -15, -17});
}

static_assert(op::Convolve<4, 3, 2, 1>::extent(9) == 5 && op::Convolve<4, 3>::extent(9) == 7);
static_assert(op::Convolve<8, 3, 1, 1, 4>::parts('c', 8) == 4 && op::Convolve<8, 3>::parts('o', 8) == 8);
static_assert(op::Convolve<8, 3, 1, 1, 4>::weight(0, Shape(4, 9, 9)).fan_in == 9);
