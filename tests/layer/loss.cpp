// layer/loss.cpp - the losses against their formulas, and their gradients against differences.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave.hpp>

using namespace cleave;

namespace {
template <class Loss> struct Net : Sequential<Vector<4>, Linear<4>, Loss> {};
template <class Loss> using P = session::Probe<Net<Loss>>;
}  // namespace

TEST_CASE("gradients of the losses agree with differences") {
  auto const c = session::numeric<P<BinaryCrossEntropy>>("BinaryCrossEntropy");
  CHECK_MESSAGE(c.ok, c.text);
  auto const f = session::numeric<P<WeightedBinaryCrossEntropy<300>>>("WeightedBinaryCrossEntropy of all");
  CHECK_MESSAGE(f.ok, f.text);
  auto const g = session::numeric<P<WeightedBinaryCrossEntropy<300, 0, 50, 100>>>("WeightedBinaryCrossEntropy");
  CHECK_MESSAGE(g.ok, g.text);
  auto const d = session::numeric<P<Huber<1, 2>>>("Huber");
  CHECK_MESSAGE(d.ok, d.text);
  auto const a = session::numeric<P<CrossEntropy>>("CrossEntropy");
  CHECK_MESSAGE(a.ok, a.text);
  auto const e = session::numeric<P<SmoothedCrossEntropy<20>>>("SmoothedCrossEntropy");
  CHECK_MESSAGE(e.ok, e.text);
  auto const w = session::numeric<P<WeightedCrossEntropy<100, 0, 250, 25>>>("WeightedCrossEntropy");
  CHECK_MESSAGE(w.ok, w.text);
  auto const b = session::numeric<P<MeanSquaredError>>("MeanSquaredError");
  CHECK_MESSAGE(b.ok, b.text);
}

TEST_CASE("at equal outputs the cross-entropy of n classes is log n, and survives large outputs") {
  op::Operands<double> t;
  double x[8] = {3, 3, 3, 3, 1000, -1000, 0, 0};
  int labels[2] = {2, 0};
  double loss = 0;
  t.x = x;
  t.labels = labels;
  t.loss = &loss;
  constexpr op::Local l{2, 2, Shape(4), Shape(), Shape(1), Shape(), Shape()};
  op::SoftmaxCrossEntropy::forward<l>(backend::host::Context{}, t);
  CHECK(loss == doctest::Approx(std::log(4.0)));
}

TEST_CASE("weighted, a sample's loss and gradient are those of its class so many times") {
  op::Operands<double> t, u;
  double x[6] = {1, 2, 4, -1, 0, 3}, loss = 0, dx[6], dy[6];
  int const labels[2] = {1, 2};
  t.x = x, t.dx = dx, t.labels = labels, t.loss = &loss;
  constexpr op::Local l{2, 2, Shape(3), Shape(), Shape(1), Shape(), Shape()};
  using Op = op::WeightedLoss<op::SoftmaxCrossEntropy, 300, 50, 200>;
  Op::forward<l>(backend::host::Context{}, t);
  Op::backward_input<l>(backend::host::Context{}, t);
  double const first = std::log(std::exp(1.) + std::exp(2.) + std::exp(4.)) - 2,
               second = std::log(std::exp(-1.) + 1 + std::exp(3.)) - 3;
  CHECK(loss == doctest::Approx(0.5 * first + 2 * second).epsilon(1e-14));
  u = t, u.dx = dy;
  op::SoftmaxCrossEntropy::backward_input<l>(backend::host::Context{}, u);
  for (int i = 0; i < 6; ++i) CHECK(dx[i] == doctest::Approx((i < 3 ? 0.5 : 2) * dy[i]).epsilon(1e-14));
}

TEST_CASE("smoothed, the target has a share of every class") {
  op::Operands<double> t;
  double x[3] = {1, 2, 4}, loss = 0, dx[3];
  int const label = 1;
  t.x = x;
  t.dx = dx;
  t.labels = &label;
  t.loss = &loss;
  constexpr op::Local l{1, 1, Shape(3), Shape(), Shape(1), Shape(), Shape()};
  using Op = op::SoftmaxWithSmoothing<30>;
  Op::forward<l>(backend::host::Context{}, t);
  Op::backward_input<l>(backend::host::Context{}, t);
  double const sum = std::exp(1.) + std::exp(2.) + std::exp(4.), log_sum = std::log(sum);
  CHECK(loss == doctest::Approx(0.1 * (log_sum - 1) + 0.8 * (log_sum - 2) + 0.1 * (log_sum - 4)).epsilon(1e-14));
  CHECK(dx[0] == doctest::Approx(std::exp(1.) / sum - 0.1).epsilon(1e-14));
  CHECK(dx[1] == doctest::Approx(std::exp(2.) / sum - 0.8).epsilon(1e-14));
  CHECK(dx[2] == doctest::Approx(std::exp(4.) / sum - 0.1).epsilon(1e-14));
}

namespace {
/// The loss of one sample of two outputs against targets.
template <class Op> double of_targets(double a, double b, float s, float t) {
  op::Operands<double> o;
  double x[2] = {a, b}, loss = -1;
  float targets[2] = {s, t};
  o.x = x;
  o.targets = targets;
  o.loss = &loss;
  constexpr op::Local l{1, 1, Shape(2), Shape(), Shape(1), Shape(), Shape()};
  Op::template forward<l>(backend::host::Context{}, o);
  return loss;
}
}  // namespace

TEST_CASE("binary cross-entropy is the mean over labels, and finite for any logit") {
  using Op = op::FeatureLoss<layer::BinaryCrossEntropyFunction>;
  CHECK(of_targets<Op>(0, 0, 0, 1) == doctest::Approx(std::log(2.0)));
  double const p = 1 / (1 + std::exp(-1.5));
  CHECK(of_targets<Op>(1.5, 1.5, 1, 0.25f) ==
        doctest::Approx((-std::log(p) - 0.25 * std::log(p) - 0.75 * std::log(1 - p)) / 2));
  CHECK(of_targets<Op>(1000, -1000, 1, 0) == 0);
  CHECK(of_targets<Op>(1000, -1000, 0, 1) == 1000);
}
TEST_CASE("weighted, a label that is there counts so many times, of all outputs or of each") {
  using Plain = op::FeatureLoss<layer::BinaryCrossEntropyFunction>;
  using Of = op::FeatureLoss<layer::WeightedBinaryFunction<400>>;
  using Each = op::FeatureLoss<layer::WeightedBinaryFunction<400, 25>>;
  double const there = std::log1p(std::exp(-1.5)), not_there = std::log1p(std::exp(0.5));
  CHECK(of_targets<Of>(1.5, 0.5, 1, 0) == doctest::Approx((4 * there + not_there) / 2));
  CHECK(of_targets<Each>(1.5, 1.5, 1, 1) == doctest::Approx((4 * there + 0.25 * there) / 2));
  CHECK(of_targets<op::FeatureLoss<layer::WeightedBinaryFunction<100>>>(1.5, -2, 0.25f, 1) ==
        doctest::Approx(of_targets<Plain>(1.5, -2, 0.25f, 1)));
  CHECK(of_targets<Of>(1000, -1000, 1, 0) == 0);
  CHECK(of_targets<Of>(1000, -1000, 0, 1) == 2500);
}
TEST_CASE("Huber is quadratic near the target and linear beyond") {
  CHECK(of_targets<op::FeatureLoss<layer::HuberFunction<1, 1>>>(0.5, 4, 0, 1) == doctest::Approx((0.125 + 2.5) / 2));
  CHECK(of_targets<op::FeatureLoss<layer::HuberFunction<1, 2>>>(-1, 0.25, 1, 0) ==
        doctest::Approx((0.5 * (2 - 0.25) + 0.03125) / 2));
}
