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

namespace {
/// Whose gradients are rows, if they are sent.
struct Words : Sequential<Vector<3>, Embedding<20, 4>, Linear<8>, Tanh, Linear<4>, CrossEntropy> {};
template <class... Ps> struct By : Plan<Words, Batch<12>, MicroBatches<6>, Momentum, Ps...> {};
backend::host::Feed const tokens{nullptr,
                                 [](void const*, long step, long first, int count, float* out) {
                                   for (long i = 3 * first; i < 3 * (first + count); ++i)
                                     *out++ = static_cast<float>((i * i + 5 * step) % 20);
                                 },
                                 [](void const*, long, long first, int count, int* out) {
                                   for (long s = first; s < first + count; ++s) *out++ = static_cast<int>(s % 4);
                                 }};
template <class P> std::vector<long> pushes(int replicas, int steps) {
  Trainer<P> trainer(replicas);
  trainer.train(0, steps, tokens);
  trainer.accuracy(tokens, 12);
  CHECK(session::miscounted(trainer, steps, 1) == "");
  return trainer.ledger().pushed;
}
}  // namespace

TEST_CASE("what replicas have pushed to a server is compared too") {
  CHECK(pushes<By<DataParallel<LocalSGD<2>>>>(2, 5) == std::vector<long>{3, 3});  // the last one after one step
  CHECK(pushes<By<DataParallel<LocalSGD<2>>, ModelParallel<SplitCols, Ways<2>>>>(2, 4) == std::vector<long>{2, 2});
  CHECK(pushes<By<DataParallel<Sync>, Shards<1>>>(2, 3) == std::vector<long>{3, 3});
  CHECK(pushes<By<DataParallel<Async>, Shards<3>, ModelParallel<SplitCols, Ways<2>>>>(1, 3) == std::vector<long>{3});
  pushes<By<DataParallel<Async>>>(3, 8);
}
TEST_CASE("a push too many is told") {
  Trainer<By<DataParallel<LocalSGD<2>>, ModelParallel<SplitCols, Ways<2>>>> trainer(2);
  trainer.train(0, 4, tokens);
  CHECK(session::miscounted(trainer, 4) == "");
  CHECK(session::miscounted(trainer, 3).starts_with("rank 0 of 4: sent elements are "));
}
