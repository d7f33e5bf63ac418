// 10_vertical_slices - a network cut into vertical slices, each on a rank: is it faster, and does it learn otherwise?
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "spirals.hpp"

using namespace cleave;

template <class... Cut>
struct Net : Sequential<Vector<2>, Linear<512, Cut...>, Relu, Linear<512, Cut...>, Relu, Linear<512, Cut...>, Relu,
                        Linear<3>, CrossEntropy> {};
template <class... Cut> struct Train : Plan<Net<Cut...>, Batch<50>, MicroBatches<1>, Adam> {
  static constexpr Rate rate = Rate::constant(0.01f);
};
using Columns = ModelParallel<SplitCols>;
static_assert(traffic<Train<Columns>>.elements_per_step == 64'000);  // activations and their gradients

/// Of three runs, each with a seed of its own: the mean accuracy, and the shortest time, which other programs on this
/// machine disturb least.
struct Result {
  double accuracy = 0, seconds = 1e9;
};
constexpr int tested = 1500, runs = 3;

template <class... Cut> Result measure(char const* name) {
  Spirals const training, test{30000, tested};
  Result r;
  int ranks = 0;
  for (std::uint64_t seed = 1; seed <= runs; ++seed) {
    Trainer<Train<Cut...>> trainer({.replicas = 1, .seed = seed});
    History const h = trainer.fit(training, test, {.epochs = 10});
    r.accuracy += h.best().val_accuracy / runs;
    r.seconds = std::min(r.seconds, h.epochs.back().seconds);
    ranks = trainer.ranks().world();
  }
  std::printf("%-12s %d ranks: accuracy %.4f, %.2f s\n", name, ranks, r.accuracy, r.seconds);
  return r;
}

int main() {
  Result const whole = measure<>("whole"), cut = measure<Columns>("in columns");
  // Two standard errors of the difference of two accuracies, each of all runs.
  double const wrong = 1 - (whole.accuracy + cut.accuracy) / 2;
  double const chance = 2 * std::sqrt(2 * wrong * (1 - wrong) / (runs * tested));
  double const difference = std::fabs(cut.accuracy - whole.accuracy);
  std::printf(
      "answer: in columns it takes %.2f of the time: it is %s; the accuracy differs by %.4f, %s than chance: it %s\n",
      cut.seconds / whole.seconds, cut.seconds < whole.seconds ? "faster" : "slower", difference,
      difference > chance ? "more" : "not more", difference > chance ? "learns otherwise" : "learns as well");
}
