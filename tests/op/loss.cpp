// op/loss.cpp - losses and their gradients by hand, also where e^x would be too large.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave/op/loss.hpp>
#include <cmath>

#include "operation.hpp"

using namespace cleave;

namespace {
template <class Op, op::Local L>
float loss_of(std::vector<float> const& x, std::vector<int> const& labels, std::vector<float>& dx, float scale) {
  float loss = -1;
  dx = test::zeros(L.rows * L.x.size());
  op::Operands<float> t;
  t.x = x.data();
  t.labels = labels.data();
  t.loss = &loss;
  t.dx = dx.data();
  t.scale = scale;
  Op::template forward<L>(test::Serial{}, t);
  Op::template backward_input<L>(test::Serial{}, t);
  return loss;
}
}  // namespace

TEST_CASE("cross entropy: the sum over a slice, the gradient of the mean") {
  using Op = op::SoftmaxCrossEntropy;
  static constexpr op::Local l{2, 8, Shape(2), {}, Shape(1), {}, {}};
  std::vector<float> dx;
  float const loss = loss_of<Op, l>({0, 0, 0, std::log(3.f)}, {0, 0}, dx, 1.f / 8);
  CHECK(loss == doctest::Approx(std::log(2.0) + std::log(4.0)));
  CHECK(dx[0] == doctest::Approx(-0.5 / 8));
  CHECK(dx[1] == doctest::Approx(0.5 / 8));
  CHECK(dx[2] == doctest::Approx(-0.75 / 8));
}

TEST_CASE("cross entropy of a thousand is no infinity") {
  using Op = op::SoftmaxCrossEntropy;
  static constexpr op::Local l{1, 1, Shape(3), {}, Shape(1), {}, {}};
  std::vector<float> dx;
  CHECK(loss_of<Op, l>({1000, 0, -1000}, {0}, dx, 1) == doctest::Approx(0).epsilon(1e-6));
  CHECK(loss_of<Op, l>({1000, 0, -1000}, {2}, dx, 1) == doctest::Approx(2000));
  CHECK(dx == std::vector<float>{1, 0, -1});
}

TEST_CASE("mean squared error against one at the label's place") {
  using Op = op::SquaredError;
  static constexpr op::Local l{1, 1, Shape(4), {}, Shape(1), {}, {}};
  std::vector<float> dx;
  CHECK(loss_of<Op, l>({0, 1, 2, 0}, {1}, dx, 1) == doctest::Approx(1.0));
  CHECK(dx == std::vector<float>{0, 0, 1, 0});
}
