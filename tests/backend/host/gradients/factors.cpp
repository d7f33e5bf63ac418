// backend/host/gradients/factors.cpp - the factors of a dense layer's gradient are sent instead of it, with the gradient's bits.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave.hpp>

using namespace cleave;

namespace {

template <class... Os>
struct Wide : Sequential<Vector<20>, Linear<96, Os...>, Tanh, Linear<64, Os...>, Relu, Linear<10, NoBias, Os...>,
                         CrossEntropy> {};
template <class N, class... Ps> struct Of : Plan<N, Batch<24>, MicroBatches<12>, Momentum, DataParallel<Sync>, Ps...> {
  static constexpr Rate rate = Rate::constant(0.05f);
};
template <class... Ps> using ByFactors = Of<Wide<SendFactors>, Ps...>;
template <class... Ps> using BySums = Of<Wide<>, Ps...>;
template <class... Ps> using ByCheapest = Of<Wide<SendCheapest>, Ps...>;

template <class P> std::vector<typename Trainer<P>::A> trained(int replicas, int steps = 8) {
  Trainer<P> t(replicas, 7);
  session::Probing<P> probe;
  t.train(0, steps, probe.feed());
  CHECK(session::miscounted(t, steps) == "");
  auto const of = [&](int r) {
    return std::vector(t.at(r).weights(), t.at(r).weights() + P::schedule.weight_elements);
  };
  for (int r = P::ways; r < t.ranks().world(); ++r) CHECK(of(r) == of(r % P::ways));
  return of(0);
}
template <class... Ps> void equal_bits(std::initializer_list<int> replicas) {
  for (int n : replicas) {
    CAPTURE(n);
    auto const sums = trained<BySums<Ps...>>(n);
    CHECK(trained<ByFactors<Ps...>>(n) == sums);
    CHECK(trained<ByCheapest<Ps...>>(n) == sums);
  }
}

// A rank sends (n-1) own samples (K + N), where a sum costs it 2(n-1)/n K N: 24 samples of 116, 160 and 74 elements.
static_assert(traffic<ByFactors<>, 2>.elements_per_step == 12 * (116 + 160 + 74));
static_assert(traffic<ByFactors<>, 4>.elements_per_step == 3 * 6 * (116 + 160 + 74));
static_assert(traffic<BySums<Fastest>, 2>.elements_per_step == 21 * 96 + 97 * 64 + 64 * 10);
// Cheapest, told by the whole batch: of B (K + N) and 2 K N it takes 2784 < 3840, 3840 < 12288, and not 1776 > 1280.
static_assert(ByCheapest<>::schedule.bucket[0].factors == 116 && ByCheapest<>::schedule.bucket[1].factors == 160 &&
              ByCheapest<>::schedule.bucket[2].factors == 0);
static_assert(traffic<ByCheapest<Fastest>, 2>.elements_per_step == 12 * (116 + 160) + 640);
static_assert(traffic<ByCheapest<Fastest>, 2>.elements_per_step < traffic<BySums<Fastest>, 2>.elements_per_step);

}  // namespace

TEST_CASE("factors of dense layers: on 1 to 8 replicas the bits of sums, by both kinds of sums, in every format") {
  equal_bits<>({1, 2, 3, 5, 8});
  equal_bits<Fastest>({2, 3, 5});
  equal_bits<Precision<f64>>({3});
  equal_bits<Precision<bf16>>({2, 3});
  equal_bits<Precision<fp8>>({2, 3});
}
TEST_CASE("factors of split layers, over replicas and over all ranks; beside routes and compression") {
  equal_bits<ModelParallel<SplitCols>>({2, 3});
  equal_bits<ModelParallel<SplitColsRows>>({2});
  equal_bits<ModelParallel<SplitBatch>>({1, 2, 3});
  trained<ByCheapest<ReduceBy<Ring>, Fastest>>(3);
  trained<ByCheapest<Compress<Int8>, Fastest>>(3);
}
TEST_CASE("a layer below one that sends factors waits for its readers all the same") {
  struct Above : Sequential<Vector<20>, Linear<96>, Tanh, Linear<64, SendFactors>, Relu,
                            Linear<10, NoBias, SendFactors>, CrossEntropy> {};
  for (int n : {2, 3}) CHECK(trained<Of<Above>>(n, 200) == trained<BySums<>>(n, 200));
}
TEST_CASE("SendCheapest where factors cannot be sent is sums") {
  CHECK(trained<ByCheapest<Accumulate<2>>>(3) == trained<BySums<Accumulate<2>>>(3));
  using Pushes = ByCheapest<Shards<1>, Compress<Int8>, Fastest>;
  Served<Pushes> t(3, 7);
  session::Probing<Pushes> probe;
  t.train(0, 3, probe.feed());
  CHECK(t.sent_bytes(0) == 3 * traffic<Pushes, 3>.bytes_per_step);
}
TEST_CASE("factors in bf16, as they come: to the rounding of what is sent") {
  auto const sums = trained<BySums<Precision<bf16>, Fastest>>(3);
  auto const factors = trained<ByFactors<Precision<bf16>, Fastest>>(3);
  for (std::size_t i = 0; i < sums.size(); ++i) CHECK(std::fabs(factors[i] - sums[i]) < 2e-2f);
}
TEST_CASE("the listing says so") {
  CHECK(schedule::listing<ByFactors<>>({2, 1}).find("over 2 replicas, sends 1,392 elements of factors") !=
        std::string::npos);
}
