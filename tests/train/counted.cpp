// train/counted.cpp - counters are held against constants, and a difference is told with its numbers.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave.hpp>

using namespace cleave;

namespace {
struct Net : Sequential<Vector<6>, Linear<4>, CrossEntropy> {};
struct Train : Plan<Net, Batch<8>, MicroBatches<4>, DataParallel<Sync>> {};
}  // namespace

TEST_CASE("what was sent is told apart from what should have been") {
  Trainer<Train> trainer(2);
  session::Probing<Train> probe;
  CHECK(session::miscounted(trainer, 0) == "");
  trainer.train(0, 3, probe.feed());
  trainer.accuracy(probe.feed(), 8);
  CHECK(session::miscounted(trainer, 3, 1) == "");
  CHECK(session::miscounted(trainer, 2, 1) ==
        "rank 0 of 2: sent elements are 84, the schedule says 56");  // 28 a step: half of its gradients, and half of
                                                                     // the sum
}
