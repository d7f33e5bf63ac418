// 10_asynchronous - replicas that do not wait for each other, and replicas that do: the time to an accuracy of 95 %.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Replicas that wait need a core each: docs/exercises.md has the answers with two cores and with one.
#include <algorithm>
#include <cstdio>

#include "spirals.hpp"

using namespace cleave;

struct Net : Sequential<Vector<2>, Linear<64>, Relu, Linear<64>, Relu, Linear<3>, CrossEntropy> {};
template <class Agreement> struct Train : Plan<Net, Batch<50>, MicroBatches<2>, DataParallel<Agreement>, Momentum> {
  static constexpr Rate rate = Rate::constant(0.05f);
};

/// The last epoch of the run that took the median time of five, each with a seed of its own.
template <class Agreement> Epoch measure(char const* name) {
  Spirals const training, test{30000, 1500};
  std::vector<Epoch> runs;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    Trainer<Train<Agreement>> trainer({.replicas = 2, .seed = seed});
    auto const reached = [](Epoch const& e) { return e.val_accuracy >= 0.95; };
    runs.push_back(trainer.fit(training, test, {.epochs = 200}, reached).epochs.back());
  }
  std::ranges::sort(runs, {}, &Epoch::seconds);
  Epoch const& median = runs[runs.size() / 2];
  std::printf("%-12s accuracy %.3f after %3d epochs, %5ld steps, %.3f s (%.3f to %.3f)\n", name, median.val_accuracy,
              median.epoch, median.steps, median.seconds, runs.front().seconds, runs.back().seconds);
  return median;
}

int main() {
  Epoch const async = measure<Async>("asynchronous"), sync = measure<Sync>("synchronous");
  if (async.val_accuracy < 0.95 || sync.val_accuracy < 0.95) {
    std::printf("answer: one of them has not reached 95 %% in 200 epochs\n");
    return 0;
  }
  bool const first = async.seconds < sync.seconds;
  Epoch const &winner = first ? async : sync, &other = first ? sync : async;
  std::printf("answer: %s replicas are first, in %.2f of the time and with %.2f of the steps of the others\n",
              first ? "asynchronous" : "synchronous", winner.seconds / other.seconds,
              static_cast<double>(winner.steps) / static_cast<double>(other.steps));
}
