// layer/loss.cpp - the two losses against their formulas, and their gradients against differences.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave.hpp>

using namespace cleave;

namespace {
template <class Loss> struct Net : Sequential<Vector<4>, Linear<4>, Loss> {};
template <class Loss> using P = session::Probe<Net<Loss>>;
}  // namespace

TEST_CASE("cross-entropy and squared error: gradients agree with differences") {
  auto const a = session::numeric<P<CrossEntropy>>("CrossEntropy");
  CHECK_MESSAGE(a.ok, a.text);
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
