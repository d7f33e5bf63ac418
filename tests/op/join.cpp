// op/join.cpp - sums, products and rows end to end, and gradients only for those who want them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave/op/join.hpp>

#include "operation.hpp"

using namespace cleave;

TEST_CASE("a concatenation keeps samples apart, and a side that wants no gradient is left alone") {
  static constexpr op::Local l{2, 2, Shape(1, 2, 1), Shape(2, 2, 1), Shape(3, 2, 1), {}, {}};
  static_assert(op::Concatenate::output(Shape(1, 2, 1), Shape(2, 2, 1)) == Shape(3, 2, 1));
  std::vector<float> const x{1, 2, 11, 12}, x2{3, 4, 5, 6, 13, 14, 15, 16};
  auto y = test::zeros(12), dx2 = test::zeros(8);
  op::Operands<float> t;
  t.x = x.data();
  t.x2 = x2.data();
  t.y = y.data();
  op::Concatenate::forward<l>(test::Serial{}, t);
  CHECK(y == std::vector<float>{1, 2, 3, 4, 5, 6, 11, 12, 13, 14, 15, 16});
  t.dy = y.data();
  t.dx2 = dx2.data();
  op::Concatenate::backward_input<l>(test::Serial{}, t);
  CHECK(dx2 == x2);
}

TEST_CASE("of sequences the features of each position are joined") {
  static constexpr op::Local l{1, 1, Shape(2, 1), Shape(2, 2), Shape(2, 3), {}, {}};
  static_assert(op::Concatenate::output(Shape(2, 1), Shape(2, 2)) == Shape(2, 3));
  static_assert(!op::Concatenate::concatenates(Shape(2, 1), Shape(3, 1)) &&
                op::Concatenate::concatenates(Shape(2), Shape(3)));
  std::vector<float> const x{1, 2}, x2{3, 4, 5, 6};
  auto y = test::zeros(6), dx = test::zeros(2), dx2 = test::zeros(4);
  op::Operands<float> t;
  t.x = x.data(), t.x2 = x2.data(), t.y = y.data();
  op::Concatenate::forward<l>(test::Serial{}, t);
  CHECK(y == std::vector<float>{1, 3, 4, 2, 5, 6});
  t.dy = y.data(), t.dx = dx.data(), t.dx2 = dx2.data();
  op::Concatenate::backward_input<l>(test::Serial{}, t);
  CHECK(dx == x);
  CHECK(dx2 == x2);
}

TEST_CASE("a sum hands its gradient to both") {
  static constexpr op::Local l{1, 1, Shape(2), Shape(2), Shape(2), {}, {}};
  std::vector<float> const x{1, 2}, x2{10, 20};
  auto y = test::zeros(2), dx = y, dx2 = y;
  op::Operands<float> t;
  t.x = x.data();
  t.x2 = x2.data();
  t.y = y.data();
  op::Add::forward<l>(test::Serial{}, t);
  CHECK(y == std::vector<float>{11, 22});
  t.dy = y.data();
  t.dx = dx.data();
  t.dx2 = dx2.data();
  op::Add::backward_input<l>(test::Serial{}, t);
  CHECK(dx == y);
  CHECK(dx2 == y);
}

TEST_CASE("a product with a factor for each channel, whose gradient is a sum over the channel") {
  static_assert(op::Multiply::joins(Shape(3, 4, 5), Shape(3)) && op::Multiply::joins(Shape(3, 4, 5), Shape(3, 1, 1)));
  static_assert(op::Multiply::joins(Shape(3), Shape(3)) && op::Multiply::joins(Shape(3, 4), Shape(3, 4)));
  static_assert(!op::Multiply::joins(Shape(3, 4, 5), Shape(4)) && !op::Multiply::joins(Shape(3), Shape(3, 4)));
  static_assert(!op::Multiply::joins(Shape(3, 4, 5), Shape(3, 1, 5)) && !op::Multiply::joins(Shape(3, 4), Shape(12)));
  static constexpr op::Local l{2, 2, Shape(2, 2), Shape(2), Shape(2, 2), {}, {}};
  std::vector<float> const x{1, 2, 3, 4, 5, 6, 7, 8}, x2{10, 100, 2, 3}, dy{1, 1, 1, 2, 1, 0, 0, 1};
  auto y = test::zeros(8), dx = y, dx2 = test::zeros(4);
  op::Operands<float> t;
  t.x = x.data();
  t.x2 = x2.data();
  t.y = y.data();
  op::Multiply::forward<l>(test::Serial{}, t);
  CHECK(y == std::vector<float>{10, 20, 300, 400, 10, 12, 21, 24});
  t.dy = dy.data();
  t.dx2 = dx2.data();
  op::Multiply::backward_input<l>(test::Serial{}, t);
  CHECK(dx2 == std::vector<float>{3, 11, 5, 8});
  t.dx = dx.data();
  op::Multiply::backward_input<l>(test::Serial{}, t);
  CHECK(dx == std::vector<float>{10, 10, 100, 200, 2, 0, 0, 3});
}
