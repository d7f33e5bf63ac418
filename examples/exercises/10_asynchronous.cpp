// 10_asynchronous - replicas that do not wait for each other, and replicas that do: the time to an accuracy of 95 %.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cstdio>

#include "spirals.hpp"

using namespace cleave;

struct Net : Sequential<Vector<2>, Linear<64>, Relu, Linear<64>, Relu, Linear<3>, CrossEntropy> {};
template <class Agreement> struct Train : Plan<Net, Batch<50>, MicroBatches<2>, DataParallel<Agreement>, Momentum> {
  static constexpr Rate rate = Rate::constant(0.05f);
};

template <class Agreement> void measure(char const* name) {
  Spirals const training, test{30000, 1500};
  Trainer<Train<Agreement>> trainer({.replicas = 2});
  History const h = trainer.fit(training, test, {.epochs = 200}, [](Epoch const& e) { return e.val_accuracy >= 0.95; });
  Epoch const& last = h.epochs.back();
  std::printf("%-12s accuracy %.3f after %3zu epochs, %5ld steps, %.2f s\n", name, last.val_accuracy, h.epochs.size(),
              last.steps, last.seconds);
}

int main() {
  measure<Async>("asynchronous");
  measure<Sync>("synchronous");
}
