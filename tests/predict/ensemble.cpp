// predict/ensemble.cpp - models of different types answer together: the mean of their probabilities.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave.hpp>
#include <cleave/predict/ensemble.hpp>

using namespace cleave;

namespace {

struct Wide : Sequential<Vector<3>, Linear<16>, Relu, Linear<4>, CrossEntropy> {};
struct Deep : Sequential<Vector<3>, Linear<8>, Tanh, Linear<8>, Tanh, Linear<4>, CrossEntropy> {};
template <class Net> struct Train : Plan<Net, Batch<8>, Adam> {};
template <class Net> Predictor<Net> some() {
  Trainer<Train<Net>> trainer;
  return trainer.predictor();
}
std::vector<float> samples(int n) {
  std::vector<float> x;
  for (int i = 0; i < 3 * n; ++i) x.push_back(static_cast<float>(i * 37 % 19) / 9 - 1);
  return x;
}

}  // namespace

TEST_CASE("probabilities are the mean of those of the models, classes the most probable, whatever runs beside") {
  auto wide = some<Wide>();
  auto deep = some<Deep>();
  auto const x = samples(50);
  auto const a = wide.probabilities(x), b = deep.probabilities(x);
  Ensemble both(wide, deep);
  auto const p = both.probabilities(x);
  auto const c = both.classes(x);
  std::vector<int> y;
  for (std::size_t i = 0; i < p.size(); ++i) CHECK(p[i] == (a[i] + b[i]) / 2);
  for (std::size_t i = 0; i < 50; ++i) {
    auto const at = p.begin() + static_cast<long>(i) * 4;
    CHECK(c[i] == std::max_element(at, at + 4) - at);
    y.push_back(i % 5 == 0 ? (c[i] + 1) % 4 : c[i]);
  }
  CHECK(both.evaluate(x, y, Accuracy{}).value() == doctest::Approx(0.8));
  Ensemble one(wide);
  CHECK(one.probabilities(x) == a);
}

TEST_CASE("wrong sizes are errors, also those of another thread") {
  Ensemble both(some<Wide>(), some<Deep>());
  CHECK_THROWS_WITH_AS(both.classes(std::vector<float>(4)), "predict: 4 numbers are no whole number of samples of 3",
                       Error);
  auto x = samples(2);
  x[4] = std::numeric_limits<float>::quiet_NaN();
  CHECK_THROWS_WITH_AS(both.classes(x), doctest::Contains("predict: sample 1: output 0 is not a number"), Error);
  CHECK_THROWS_WITH_AS(both.evaluate(samples(2), std::vector<int>(3), Accuracy{}), "y: 3 labels for 2 samples", Error);
}

TEST_CASE("positions that are ignored count for no metric") {
  struct Net : Sequential<Vector<3>, Embedding<5, 4>, PerPosition<Linear<5>, CrossEntropy>> {};
  Predictor<Net> one = some<Net>();
  Ensemble all(one);
  std::vector<float> const x{0, 1, 2, 3, 4, 0};
  std::vector<int> y = one.classes(x);
  y[1] = y[5] = -1;
  CHECK(all.evaluate(x, y, Accuracy{}).value() == 1);
  CHECK(one.evaluate(x, y, Accuracy{}).value() == 1);
  CHECK_THROWS_WITH_AS(one(std::vector<float>{0, 1, 5}),
                       doctest::Contains("sample 0: number 2 is 5, which is no token"), Error);
  CHECK_THROWS_AS(all.classes(std::vector<float>{0, 2.5f, 1}), Error);
}
