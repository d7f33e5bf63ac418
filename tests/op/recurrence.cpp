// op/recurrence.cpp - recurrent cells by hand, and what backward_input leaves for the weights.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave/op/recurrence.hpp>
#include <cmath>

#include "operation.hpp"

using namespace cleave;

namespace {

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

/// One unit over two positions.
template <class Op> struct OfTwo {
  static constexpr int gates = Op::gates;
  static constexpr op::Local l = test::local<Op>(1, Shape(2, gates));
  std::vector<double> x, w, bias, y = std::vector<double>(2), aux, dx, dw, db, dy{0.5, -1};

  explicit OfTwo(std::vector<double> inputs) : x(std::move(inputs)) {
    aux.resize(static_cast<std::size_t>(Op::aux(l.x, l.y)));
    dx.resize(x.size());
    for (int g = 0; g < gates; ++g) w.push_back(0.3 * (g + 1)), bias.push_back(0.1 * g);
    dw.resize(w.size());
    db.resize(w.size());
  }
  op::Operands<double> operands() {
    op::Operands<double> t;
    t.x = x.data(), t.w0 = w.data(), t.w1 = bias.data(), t.y = y.data(), t.aux = aux.data(), t.dy = dy.data();
    t.dx = dx.data(), t.dw0 = dw.data(), t.dw1 = db.data();
    return t;
  }
};

}  // namespace

TEST_CASE("rnn: the tangent of input, output before and both biases") {
  using Op = op::Recurrence<op::RnnCell, 1>;
  OfTwo<Op> of({0.2, -0.4});
  Op::forward<OfTwo<Op>::l>(test::Serial{}, of.operands());
  double const h0 = std::tanh(0.2), h1 = std::tanh(-0.4 + 0.3 * h0);
  CHECK(of.y[0] == doctest::Approx(h0));
  CHECK(of.y[1] == doctest::Approx(h1));
  Op::backward_input<OfTwo<Op>::l>(test::Serial{}, of.operands());
  double const d1 = -1 * (1 - h1 * h1), d0 = (0.5 + 0.3 * d1) * (1 - h0 * h0);
  CHECK(of.dx[1] == doctest::Approx(d1));
  CHECK(of.dx[0] == doctest::Approx(d0));
  Op::backward_weight<OfTwo<Op>::l>(test::Serial{}, of.operands());
  CHECK(of.dw[0] == doctest::Approx(h0 * d1));  // of no position before the first
  CHECK(of.db[0] == doctest::Approx(d0 + d1));
}
TEST_CASE("truncated: outputs go on from one run to the next, gradients do not go back") {
  using Op = op::Recurrence<op::RnnCell, 1, 1>;
  OfTwo<Op> of({0.2, -0.4});
  Op::forward<OfTwo<Op>::l>(test::Serial{}, of.operands());
  double const h0 = std::tanh(0.2), h1 = std::tanh(-0.4 + 0.3 * h0);
  CHECK(of.y[1] == doctest::Approx(h1));
  Op::backward_input<OfTwo<Op>::l>(test::Serial{}, of.operands());
  double const d1 = -1 * (1 - h1 * h1), d0 = 0.5 * (1 - h0 * h0);
  CHECK(of.dx[1] == doctest::Approx(d1));
  CHECK(of.dx[0] == doctest::Approx(d0));
  Op::backward_weight<OfTwo<Op>::l>(test::Serial{}, of.operands());
  CHECK(of.dw[0] == doctest::Approx(h0 * d1));  // the output before counts, as a constant
  CHECK(of.db[0] == doctest::Approx(d0 + d1));
  static_assert(op::Recurrence<op::RnnCell, 1, 3>::goes_back(4) && !op::Recurrence<op::RnnCell, 1, 3>::goes_back(3) &&
                op::Recurrence<op::RnnCell, 1>::goes_back(3));
}
TEST_CASE("lstm: gates i, f, g, o, and a state of its own") {
  using Op = op::Recurrence<op::LstmCell, 1>;
  OfTwo<Op> of({0.1, 0.2, 0.3, 0.4, -0.1, 0.5, 0.7, -0.2});
  Op::forward<OfTwo<Op>::l>(test::Serial{}, of.operands());
  double const c0 = sigmoid(0.1) * std::tanh(0.3 + 0.2), h0 = sigmoid(0.4 + 0.3) * std::tanh(c0);
  CHECK(of.y[0] == doctest::Approx(h0));
  double const i = sigmoid(-0.1 + 0.3 * h0), f = sigmoid(0.5 + 0.1 + 0.6 * h0), g = std::tanh(0.7 + 0.2 + 0.9 * h0),
               o = sigmoid(-0.2 + 0.3 + 1.2 * h0);
  CHECK(of.y[1] == doctest::Approx(o * std::tanh(f * c0 + i * g)));
}
TEST_CASE("gru: gates r, z, n, where r is of what comes from the output before, with its bias") {
  using Op = op::Recurrence<op::GruCell, 1>;
  OfTwo<Op> of({0.1, 0.2, 0.3, -0.1, 0.5, 0.7});
  Op::forward<OfTwo<Op>::l>(test::Serial{}, of.operands());
  double const n0 = std::tanh(0.3 + sigmoid(0.1) * 0.2), h0 = (1 - sigmoid(0.2 + 0.1)) * n0;
  CHECK(of.y[0] == doctest::Approx(h0));
  double const r = sigmoid(-0.1 + 0.3 * h0), z = sigmoid(0.5 + 0.1 + 0.6 * h0),
               n = std::tanh(0.7 + r * (0.2 + 0.9 * h0));
  CHECK(of.y[1] == doctest::Approx((1 - z) * n + z * h0));
}
TEST_CASE("the last position: its gradient, and none for those before") {
  static constexpr op::Local l = test::local<op::TakeLast>(2, Shape(2, 2));
  std::vector<float> const x{1, 2, 3, 4, 5, 6, 7, 8}, dy{1, 2, 3, 4};
  auto y = test::zeros(4), dx = test::zeros(8);
  op::Operands<float> t;
  t.x = x.data(), t.y = y.data(), t.dy = dy.data(), t.dx = dx.data();
  op::TakeLast::forward<l>(test::Serial{}, t);
  op::TakeLast::backward_input<l>(test::Serial{}, t);
  CHECK(y == std::vector<float>{3, 4, 7, 8});
  CHECK(dx == std::vector<float>{0, 0, 1, 2, 0, 0, 3, 4});
}
