// 10_vertical_slices - a network cut into vertical slices, each on a rank: is it faster, and does it learn otherwise?
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cstdio>

#include "spirals.hpp"

using namespace cleave;

template <class... Cut>
struct Net : Sequential<Vector<2>, Linear<512, Cut...>, Relu, Linear<512, Cut...>, Relu, Linear<512, Cut...>, Relu,
                        Linear<3>, CrossEntropy> {};
template <class... Cut> struct Train : Plan<Net<Cut...>, Batch<50>, MicroBatches<1>, Adam> {};
using Columns = ModelParallel<SplitCols>;
static_assert(traffic<Train<Columns>>.elements_per_step == 64'000);  // activations and their gradients

template <class... Cut> void measure(char const* name) {
  Spirals const training, test{30000, 1500};
  Trainer<Train<Cut...>> trainer({.replicas = 1});
  History const h = trainer.fit(training, test, {.epochs = 10});
  std::printf("%-12s %d ranks: val_loss %.3f, accuracy %.3f, %.2f s\n", name, trainer.ranks().world(),
              h.best().val_loss, h.best().val_accuracy, h.epochs.back().seconds);
}

int main() {
  measure<>("whole");
  measure<Columns>("in columns");
}
