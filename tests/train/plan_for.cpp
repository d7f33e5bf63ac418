// train/plan_for.cpp - the plan that a machine's model makes fastest: never slower than by hand, and what fits in memory.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>

#include <cleave.hpp>
#include <cleave/train/plan_for.hpp>

#include "signs.hpp"
#include "values.hpp"

using namespace cleave;

namespace {

struct AlexNet
    : Sequential<Image<3, 227, 227>, Conv<96, 11, Stride<4>>, Relu, MaxPool<3, Stride<2>>, Conv<256, 5, Pad<2>>, Relu,
                 MaxPool<3, Stride<2>>, Conv<384, 3, Pad<1>>, Relu, Conv<384, 3, Pad<1>>, Relu, Conv<256, 3, Pad<1>>,
                 Relu, MaxPool<3, Stride<2>>, Linear<4096>, Relu, Linear<4096>, Relu, Linear<1000>, CrossEntropy> {};
struct Small : Sequential<Vector<16>, Linear<32>, Relu, Linear<4>, CrossEntropy> {};
struct Deep : Sequential<Vector<256>, Linear<256>, Relu, Linear<256>, Relu, Linear<256>, Relu, Linear<256>, Relu,
                         Linear<256>, Relu, Linear<10>, CrossEntropy> {};
struct Pictures : Sequential<Image<4, 24, 24>, Conv<16, 3, Pad<1>>, Relu, Conv<16, 3, Pad<1>>, Relu,
                             Conv<16, 3, Pad<1>>, Relu, Linear<10>, CrossEntropy> {};
struct Wide : Sequential<Vector<256>, Linear<512>, BatchNorm, Relu, Linear<10>, CrossEntropy> {};

struct Gpu : Machine<10'000, Link<10'000, 10'000>> {};
struct Wire : Machine<10'000, Link<50'000, 100>> {};
/// Replicas are joined by a fast link, ways by one that is too slow for values.
template <long Bytes> struct Cluster : Machine<10, Link<100, 100'000>> {
  using ways_link = Link<100'000'000, 1>;
  static constexpr long capacity = Bytes;
};

template <class... Ps> struct Alex : Plan<AlexNet, Batch<128>, Momentum, Ps...> {};
template <class M> constexpr double chosen_ms = step_time<Alex<PlanFor<M, 4>>, M> / 1e6;
template <class M, class... Ps> constexpr double by_hand_ms = step_time<Alex<Ps...>, M> / 1e6;
template <class M> constexpr bool is_best() {
  constexpr double chosen = chosen_ms<M>;
  return chosen <= by_hand_ms<M> && chosen <= by_hand_ms<M, DataParallel<Sync>, Mesh<Data<4>>> &&
         chosen <= by_hand_ms<M, ModelParallel<SplitColsRows, Ways<4>>> && chosen <= by_hand_ms<M, OneWeirdTrick<4>>;
}
static_assert(is_best<Gpu>());

template <class Net, long Bytes, class... Ps>
using Fitted = Plan<Net, Batch<64>, Adam, PlanFor<Cluster<Bytes>, 2>, Ps...>;
template <class Data> constexpr long with_zero = memory<Plan<Deep, Batch<64>, Adam, Data>, 2>.total;
template <class P> constexpr session::PlanCandidate chosen = P::choice::chosen;

}  // namespace

TEST_CASE("two replicas of two ways, where neither four replicas nor four ways are as fast") {
  using P = Alex<PlanFor<Gpu, 4>>;
  static_assert(P::replicas == 2 && P::ways == 2);
  CHECK(explain_plan<P>().find("2 x 2") < explain_plan<P>().find(", chosen"));
  CHECK(explain_plan<P>().find("by hand: Mesh<Data<2>, Model<2>>, MicroBatches<8>, DataParallel<Sync>, "
                               "ModelParallel<SplitFor<machine, 2>, Ways<2>>\n") != std::string::npos);
}
TEST_CASE("a small net on slow links stays on one rank") {
  using P = Plan<Small, Batch<128>, Momentum, PlanFor<Wire, 4>>;
  static_assert(P::replicas == 1 && P::ways == 1);

  CHECK(explain_plan<P>().find("by hand: Mesh<Data<1>, Model<1>>, MicroBatches<1>, DataParallel<Sync>\n") !=
        std::string::npos);
}
TEST_CASE("the smallest stage of ZeRO that fits") {
  static_assert(chosen<Fitted<Deep, 0>>.replicas == 2 && chosen<Fitted<Deep, 0>>.zero == 0);
  constexpr long plain = with_zero<DataParallel<Sync>>, one = with_zero<DataParallel<Sync, Zero<1>>>,
                 two = with_zero<DataParallel<Sync, Zero<2>>>, three = with_zero<DataParallel<Sync, Zero<3>>>;
  static_assert(three < two && two < one && one < plain);
  static_assert(chosen<Fitted<Deep, plain>>.zero == 0);
  static_assert(chosen<Fitted<Deep, plain - 1>>.zero == 1 && chosen<Fitted<Deep, one>>.bytes == one);
  static_assert(chosen<Fitted<Deep, one - 1>>.zero == 2);
  static_assert(chosen<Fitted<Deep, two - 1>>.zero == 3 && chosen<Fitted<Deep, three>>.bytes == three);
}
TEST_CASE("rounds of accumulation, where activations take the memory") {
  constexpr long plain = memory<Plan<Pictures, Batch<64>, Adam, DataParallel<Sync>>, 2>.total;
  using P = Fitted<Pictures, plain * 3 / 4>;
  static_assert(chosen<P>.fits && chosen<P>.rounds == 2 && P::rounds == 2 && P::replicas == 2);
  static_assert(memory<P>.total == chosen<P>.bytes && chosen<P>.bytes <= plain * 3 / 4);
  CHECK(explain_plan<P>().find("2 x 1, Accumulate<2>") != std::string::npos);
}
TEST_CASE("what is said stays") {
  using P = Fitted<Wide, 0, Precision<bf16>, MicroBatches<16>, Fastest>;
  static_assert(P::replicas == 2 && P::micro_batches == 16 && sizeof(P::number) == 2 && !P::ordered);
}
TEST_CASE("one micro-batch does not keep ways away; compressed gradients are sent by replicas") {
  using P = Plan<Deep, Batch<4>, Momentum, MicroBatches<1>, PlanFor<Gpu, 2>>;
  static_assert(P::choice::pairs == 2 && P::choice::candidates[1].ways == 2);
  using Q = Plan<Deep, Batch<64>, Momentum, Fastest, Compress<Int8>, PlanFor<Cluster<0>, 2>>;
  static_assert(Q::choice::pairs == 3 && Q::compressed && Q::replicas == 2);
}
TEST_CASE("the chosen plan trains as one written by hand") {
  auto const trained = []<class P>(std::type_identity<P>) {
    Trainer<P> t(P::replicas, 7);
    t.train(0, 3, signs::feed<P>());
    return values(t);
  };
  using P = Fitted<Deep, 0>;
  CHECK(trained(std::type_identity<P>{}) ==
        trained(std::type_identity<Plan<Deep, Batch<64>, Adam, DataParallel<Sync>, Mesh<Data<2>>>>{}));
}
