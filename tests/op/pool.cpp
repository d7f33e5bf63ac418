// op/pool.cpp - ties, padding, NaN and overlaps.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave/op/pool.hpp>
#include <cmath>
#include <limits>

#include "operation.hpp"

using namespace cleave;

namespace {
template <class Op, op::Local L> struct Pooled {
  std::vector<float> y = test::zeros(L.y.size()), aux = y, dx = test::zeros(L.x.size());
  explicit Pooled(std::vector<float> const& x, std::vector<float> const& dy) {
    op::Operands<float> t;
    t.x = x.data();
    t.y = y.data();
    t.aux = aux.data();
    t.dy = dy.data();
    t.dx = dx.data();
    Op::template forward<L>(test::Serial{}, t);
    Op::template backward_input<L>(test::Serial{}, t);
  }
};
}  // namespace

TEST_CASE("of equal values the first wins the gradient; overlapping windows add theirs") {
  using Op = op::MaxWindow<2, 1>;
  static constexpr op::Local l = test::local<Op>(1, Shape(1, 2, 3));
  Pooled<Op, l> const p({5, 5, 1, 0, 5, 2}, {1, 10});
  CHECK(p.y == std::vector<float>{5, 5});
  CHECK(p.dx == std::vector<float>{1, 10, 0, 0, 0, 0});
  Pooled<Op, l> const q({0, 7, 0, 0, 0, 0}, {1, 10});
  CHECK(q.dx == std::vector<float>{0, 11, 0, 0, 0, 0});
}

TEST_CASE("padding never wins, not even against negative values; a NaN stays one") {
  using Op = op::MaxWindow<3, 2, 1>;
  static constexpr op::Local l = test::local<Op>(1, Shape(1, 2, 2));
  static_assert(l.y == Shape(1, 1, 1));
  CHECK(Pooled<Op, l>({-4, -3, -2, -5}, {1}).y[0] == -2);
  float const nan = std::numeric_limits<float>::quiet_NaN();
  CHECK(std::isnan(Pooled<Op, l>({nan, 9, 9, 9}, {1}).y[0]));
}

TEST_CASE("the mean counts padding as zeros and spreads its gradient evenly") {
  using Op = op::MeanWindow<2, 2, 1>;
  static constexpr op::Local l = test::local<Op>(1, Shape(1, 2, 2));
  static_assert(l.y == Shape(1, 2, 2));
  Pooled<Op, l> const p({4, 8, 12, 16}, {1, 2, 3, 4});
  CHECK(p.y == std::vector<float>{1, 2, 3, 4});
  CHECK(p.dx == std::vector<float>{0.25f, 0.5f, 0.75f, 1});
}

TEST_CASE("the mean of a channel is one number, and its gradient the same everywhere") {
  using Op = op::ChannelMean;
  static constexpr op::Local l = test::local<Op>(1, Shape(2, 1, 2));
  static_assert(l.y == Shape(2, 1, 1));
  Pooled<Op, l> const p({4, 8, 12, 20}, {1, 4});
  CHECK(p.y == std::vector<float>{6, 16});
  CHECK(p.dx == std::vector<float>{0.5f, 0.5f, 2, 2});
}
