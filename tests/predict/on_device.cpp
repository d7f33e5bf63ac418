// predict/on_device.cpp - a predictor on the emulated device has the outputs of the host.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave.hpp>
#include <cleave/predict/ensemble.hpp>
#include <cleave/predict/on_device.hpp>
#include <cleave/train/emulated.hpp>

#include "../io/scratch.hpp"

using namespace cleave;

namespace {

using Machine = backend::emulate::Machine;
struct Picture : Sequential<Image<1, 6, 6>, Conv<4, 3>, BatchNorm, Relu, MaxPool<2>, Linear<3>, CrossEntropy> {};
struct Words : Sequential<Vector<5>, Embedding<12, 8, PadToken<0>>, Attention<2, Padded>, MeanOverValidPositions,
                          Linear<3>, CrossEntropy> {};
struct Curve : Sequential<Vector<3>, Linear<8>, Tanh, Linear<2>, MeanSquaredError> {};
template <class Net, class... Ws>
struct Train : Plan<Net, Batch<20>, MicroBatches<4>, DataParallel<Sync>, Adam, Ws...> {};

float number(long i) { return static_cast<float>(i * 7919 % 1000) / 1000; }
template <class Net> std::vector<float> samples(int n) {
  std::vector<float> x;
  for (long i = 0; i < n * Net::input::shape.size(); ++i)
    x.push_back(std::is_same_v<Net, Words> ? std::floor(12 * number(i)) : number(i) - 0.3f);
  return x;
}
std::vector<int> labels(int n) {
  std::vector<int> y;
  for (int i = 0; i < n; ++i) y.push_back(i * i % 3);
  return y;
}
void near(std::vector<float> const& a, std::vector<float> const& b, double tolerance) {
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) CHECK(a[i] == doctest::Approx(b[i]).epsilon(tolerance));
}

}  // namespace

TEST_CASE_TEMPLATE("outputs and classes of any number of samples, from a file and from a trainer", Net, Picture,
                   Words) {
  scratch::Folder const folder;
  std::string const file = folder / "w.safetensors";
  Trainer<Train<Net>> trainer(2, 3);
  trainer.fit(samples<Net>(80), labels(80), {.epochs = 2, .standardise = std::is_same_v<Net, Picture>});
  trainer.save(file);
  Predictor<Net> host(file);
  Predictor<Net, f32, Machine> device(file), same(trainer);
  for (int n : {1, 128, 150}) near(device(samples<Net>(n)), host(samples<Net>(n)), 1e-4);
  CHECK(same(samples<Net>(9)) == device(samples<Net>(9)));
  CHECK(device.classes(samples<Net>(40)) == host.classes(samples<Net>(40)));
  auto const x = samples<Net>(200);
  CHECK(device.evaluate(x, labels(200), Accuracy{}).value() == host.evaluate(x, labels(200), Accuracy{}).value());
  device.save(folder / "again.safetensors");
  CHECK(Predictor<Net>(folder / "again.safetensors")(x) == host(x));
}
TEST_CASE(
    "memory is weights, activations and the workspace of a device, a constant; numbers in bf16; a model of numbers") {
  using OnDevice = Predictor<Curve, f32, Machine>;
  static_assert(OnDevice::weight_bytes < 1024);
  static_assert(OnDevice::bytes == OnDevice::weight_bytes + OnDevice::activation_bytes);
  static_assert(fits<OnDevice, 17 << 20>);
  Trainer<Train<Curve, Precision<bf16>>> trainer(1, 3);
  std::vector<float> const x = samples<Curve>(60);
  Predictor<Curve, bf16, Machine> narrow(trainer);
  Predictor<Curve, bf16> host(trainer);
  near(narrow(x), host(x), 0.02);
  CHECK_THROWS_WITH_AS(narrow(std::vector<float>(4)), doctest::Contains("4"), Error);
}
TEST_CASE("members of an ensemble may be on devices of their own") {
  Trainer<Train<Words>> a(1, 3), b(1, 4);
  Ensemble both{Predictor<Words, f32, Machine>(a), Predictor<Words>(b)};
  auto const x = samples<Words>(30);
  auto const of_a = Predictor<Words>(a).probabilities(x), of_b = Predictor<Words>(b).probabilities(x);
  auto const mean = both.probabilities(x);
  for (std::size_t i = 0; i < mean.size(); ++i)
    CHECK(mean[i] == doctest::Approx((of_a[i] + of_b[i]) / 2).epsilon(1e-4));
}
