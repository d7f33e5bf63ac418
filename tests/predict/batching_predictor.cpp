// predict/batching_predictor.cpp - many threads ask one model: each gets the outputs of its own samples.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave.hpp>
#include <cleave/predict/batching_predictor.hpp>

#include <atomic>

using namespace cleave;

namespace {

struct Net : Sequential<Vector<5>, Linear<12>, Tanh, Linear<3>, CrossEntropy> {};
struct Train : Plan<Net, Batch<16>, Adam> {};

std::vector<float> samples(int n, int seed) {
  std::vector<float> x;
  for (int i = 0; i < 5 * n; ++i) x.push_back(static_cast<float>((i * 37 + seed * 101) % 97) / 50 - 1);
  return x;
}

}  // namespace

TEST_CASE("every thread gets the outputs of its own samples, whatever runs beside them") {
  Trainer<Train> trainer;
  Predictor<Net> alone(trainer);
  for (BatchingOptions const how : {BatchingOptions{}, BatchingOptions{.threads = 3},
                                    BatchingOptions{.threads = 2, .wait = std::chrono::microseconds(300)}}) {
    BatchingPredictor<Net> const predict(alone, how);
    std::vector<std::vector<float>> wanted;
    for (int k = 0; k < 40; ++k) wanted.push_back(alone(samples(1 + k % 7 * (k % 5 == 0 ? 11 : 1), k)));
    std::atomic<int> wrong = 0;
    std::vector<std::thread> callers;
    for (int c = 0; c < 8; ++c) {
      callers.emplace_back([&, c] {
        for (int round = 0; round < 20; ++round) {
          for (int k = c; k < 40; k += 8) {
            auto const x = samples(1 + k % 7 * (k % 5 == 0 ? 11 : 1), k);
            wrong += predict(x) != wanted[static_cast<std::size_t>(k)];
          }
        }
      });
    }
    for (std::thread& t : callers) t.join();
    CHECK(wrong == 0);
  }
}

TEST_CASE("probabilities, classes, an empty request and errors are those of Predictor") {
  Trainer<Train> trainer;
  Predictor<Net> alone(trainer);
  BatchingPredictor<Net> const predict(alone);
  auto const x = samples(9, 1);
  CHECK(predict.probabilities(x) == alone.probabilities(x));
  CHECK(predict.classes(x) == alone.classes(x));
  CHECK(predict(std::span<float const>()).empty());
  CHECK_THROWS_WITH_AS(predict(std::span(x).first(7)), "predict: 7 numbers are no whole number of samples of 5", Error);
  CHECK_THROWS_WITH_AS(predict.names(x), doctest::Contains("0 class names; ask classes()"), Error);
  CHECK_THROWS_WITH_AS(BatchingPredictor<Net>(alone, {.threads = 0}), "predict: 0 threads; say at least 1", Error);
  CHECK_THROWS_WITH_AS(BatchingPredictor<Net>(alone, {.wait = std::chrono::microseconds(-1)}),
                       "predict: a wait of -1 us; say at least 0", Error);
  CHECK_THROWS_AS(BatchingPredictor<Net>("no such file"), Error);
}

TEST_CASE("a request waits for others no longer than it is told") {
  Trainer<Train> trainer;
  BatchingPredictor<Net> const predict(Predictor<Net>(trainer), {.wait = std::chrono::milliseconds(20)});
  CHECK(predict(samples(1, 1)).size() == 3);  // nobody else comes
}
