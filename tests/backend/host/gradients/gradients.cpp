// backend/host/gradients/gradients.cpp - layers share messages of gradients, or do not: the same bits in fewer messages.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What that costs or saves in time is modelled (sim/step.cpp) and measured (benchmarks), not tested.
#include <doctest/doctest.h>
#include <cleave.hpp>

#include <thread>

using namespace cleave;

namespace {

// 504, 400, 272, 68 weights from the first layer to the last.
struct Net : Sequential<Vector<20>, Linear<24>, Relu, Linear<16>, Tanh, Linear<16>, Tanh, Linear<4>, CrossEntropy> {};
struct Deep : Sequential<Image<3, 8, 8>, Conv<8, 3, Pad<1>>, BatchNorm, Relu, Residual<Conv<8, 3, Pad<1>>, Tanh>,
                         Branches<Concat, Path<Conv<4, 1>>, Path<MaxPool<3, Stride<1>, Pad<1>>>>, AvgPool<2>,
                         Linear<32>, Gelu, Linear<8>, CrossEntropy> {};
template <class N, class... Ps> struct Of : Plan<N, Batch<24>, MicroBatches<12>, Momentum, DataParallel<Sync>, Ps...> {
  static constexpr Rate rate = Rate::constant(0.05f);
};
template <class P> std::vector<float> trained(int replicas, int steps = 8) {
  Trainer<P> t(replicas, 7);
  session::Probing<P> probe;
  t.train(0, steps, probe.feed());
  CHECK(session::miscounted(t, steps) == "");
  // Sums of the same times, in another order.
  for (int r = 0; r < t.ranks().world(); ++r) CHECK(*t.exposed(r) <= *t.waited(r) + 1e-9);
  auto const of = [&](int r) {
    return std::vector<float>(t.at(r).weights(), t.at(r).weights() + P::schedule.weight_elements);
  };
  for (int r = P::ways; r < t.ranks().world(); ++r) CHECK(of(r) == of(r % P::ways));
  return of(0);
}
template <class P> constexpr int messages = traffic<P, 2>.messages;

using Each = Of<Net>;
using Together = Of<Net, Buckets<1_MiB>>;
using Some = Of<Net, Buckets<1_KiB>>;  // 68 + 272, then 400, then 504
static_assert(messages<Each> == 4 && messages<Together> == 1 && messages<Some> == 3);
static_assert(Some::schedule.bucket[2].offset == 904 && Some::schedule.bucket[2].count == 340 &&
              Some::schedule.bucket[1].count == 400 && Some::schedule.bucket[0].count == 504);
static_assert(traffic<Together, 2>.bytes_per_step == traffic<Each, 2>.bytes_per_step);
static_assert(messages<Of<Net, Buckets<256>, Precision<bf16>>> == 3);  // bytes as they are sent

/// The steps between the first start of a message and the end of the backward pass: where sending hides.
template <class P> constexpr int hidden() {
  int first = 0;
  while (P::schedule.step[first].what != schedule::Do::Start) ++first;
  int last = first;
  for (int s = first; s < P::schedule.steps; ++s) {
    if (P::schedule.step[s].what == schedule::Do::BackwardWeight) last = s;
  }
  return last - first;
}
static_assert(hidden<Each>() > hidden<Some>() && hidden<Some>() > 0 && hidden<Together>() == 0);

}  // namespace

TEST_CASE("who waits for a late peer's gradients is told that it did, and the late one that it did not") {
  using P = Each;
  static session::Probing<P> probe;
  backend::host::Feed late = probe.feed();
  late.pixels = [](void const*, long step, long first, int count, float* out) {
    if (first >= P::batch / 2) std::this_thread::sleep_for(std::chrono::milliseconds(5));  // of the second rank
    auto const feed = probe.feed();
    feed.pixels(feed.self, step, first, count, out);
  };
  Trainer<P> t(2, 7);
  t.train(0, 20, late);
  CHECK(*t.exposed(0) > 0);
  CHECK(*t.exposed(0) > *t.exposed(1));
  CHECK(*t.exposed(0) <= *t.waited(0) + 1e-9);  // which has the waits between kernels too
  Trainer<P> alone(1, 7);
  alone.train(0, 20, probe.feed());
  CHECK(*alone.exposed(0) == 0);
}
TEST_CASE("a message for each layer, for some, or for all: the same bits, counted as the constants say") {
  for (int n : {1, 2, 3, 5}) {
    auto const each = trained<Each>(n);
    CHECK(trained<Together>(n) == each);
    CHECK(trained<Some>(n) == each);
  }
  auto const deep = trained<Of<Deep>>(3);
  CHECK(trained<Of<Deep, Buckets<1_MiB>>>(3) == deep);
  CHECK(trained<Of<Deep, Buckets<2_KiB>>>(3) == deep);
}
TEST_CASE("joined messages on meshes, in rounds, by routes, encoded, beside rows and factors") {
  CHECK(trained<Of<Net, Buckets<1_KiB>, ModelParallel<SplitCols>>>(3) == trained<Of<Net, ModelParallel<SplitCols>>>(3));
  CHECK(trained<Of<Net, Buckets<1_MiB>, ModelParallel<SplitBatch>>>(2) ==
        trained<Of<Net, ModelParallel<SplitBatch>>>(2));
  CHECK(trained<Of<Net, Buckets<1_KiB>, Accumulate<2>>>(3) == trained<Of<Net>>(3));
  CHECK(trained<Of<Net, Buckets<1_KiB>, Precision<bf16>>>(3) == trained<Of<Net, Precision<bf16>>>(3));
  trained<Of<Net, Buckets<1_KiB>, Fastest, ReduceBy<Ring>>>(3);
  trained<Of<Net, Buckets<1_KiB>, Fastest, Compress<OneBit>>>(3);
  struct Mixed : Sequential<Vector<20>, Linear<24>, Relu, Linear<96, SendFactors>, Tanh, Linear<64>, Tanh, Linear<4>,
                            CrossEntropy> {};
  static_assert(messages<Of<Mixed, Buckets<1_MiB>>> == 3);
  CHECK(trained<Of<Mixed, Buckets<1_MiB>>>(3) == trained<Of<Mixed>>(3));
}
