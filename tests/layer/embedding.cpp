// layer/embedding.cpp - the gradient of a table against finite differences in f64.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave.hpp>

using namespace cleave;

TEST_CASE("gradients of an embedding's rows, also of rows that no token names") {
  struct Net : Sequential<Vector<3>, Embedding<7, 4>, Tanh, Linear<5>, MeanSquaredError> {};
  using P = session::Probe<Net>;
  session::Probing<P> probe;
  for (std::size_t i = 0; i < probe.x.size(); ++i) probe.x[i] = static_cast<double>(i * i % 5);
  auto const analytic = probe.step();
  CHECK(analytic.miscounted == "");
  REQUIRE(analytic.weights[0].size() == 28);
  double const h = 1.0 / 4096;
  for (long i = 0; i < 28; ++i) {
    double const high = probe.step(1, 0, i, h, 0).loss, low = probe.step(1, 0, i, -h, 0).loss;
    CHECK(analytic.weights[0][static_cast<std::size_t>(i)] == doctest::Approx((high - low) / (2 * h)).epsilon(1e-5));
    if (i >= 20) CHECK(analytic.weights[0][static_cast<std::size_t>(i)] == 0);
  }
  for (double g : analytic.input) CHECK(g == 0);
  using D = session::Probe<Net, DataParallel<Sync>>;
  session::Probing<D> shared;
  shared.x = probe.x;
  for (int n : {2, 3, 4}) CHECK(shared.step(n).weights == analytic.weights);
}
