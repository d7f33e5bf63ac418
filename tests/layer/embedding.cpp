// layer/embedding.cpp - the gradient of a table against finite differences in f64.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave.hpp>
#include <cleave/train/emulated.hpp>

using namespace cleave;

namespace {

struct Words : Sequential<Vector<1>, Embedding<1000, 8>, Linear<4>, CrossEntropy> {};
template <class Number> struct Wide : Plan<Words, Batch<8>, MicroBatches<2>, Precision<Number>, Adam> {};

}  // namespace

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
TEST_CASE_TEMPLATE("tokens keep their digits in narrow formats, on the host, on a device and in a predictor", Number,
                   bf16, f16, fp8) {
  using P = Wide<Number>;
  std::vector<float> x;
  std::vector<int> y;
  for (int i = 0; i < 64; ++i)
    x.push_back(static_cast<float>(900 + i)), y.push_back(i * 7 % 4);  // one in bf16: 904 to 907
  Trainer<P> host(1, 3);
  DeviceTrainer<P, backend::emulate::Machine> device(1, 3);
  FitOptions how{.epochs = 60};
  how.rate = Rate::constant(0.05f);
  host.fit(x, y, how);
  device.fit(x, y, how);
  CHECK(host.evaluate(x, y).accuracy == 1);
  CHECK(device.evaluate(x, y).accuracy == 1);
  if constexpr (!std::is_same_v<Number, fp8>) CHECK(host.predictor().evaluate(x, y, Accuracy{}).value() == 1);
  CHECK_THROWS_WITH_AS(host.evaluate(std::vector<float>{1000}, std::vector<int>{0}), doctest::Contains("no token"),
                       Error);
}
