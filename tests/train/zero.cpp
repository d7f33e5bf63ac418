// train/zero.cpp - optimizers in parts, gradients and weights in turn: the bits and the checkpoints of whole ones, the traffic
// and the memory that the constants say.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave.hpp>

#include "../io/scratch.hpp"
#include "signs.hpp"
#include "values.hpp"

using namespace cleave;

namespace {

struct Net : Sequential<Vector<20>, Linear<24>, LayerNorm, Relu, Linear<16>, Tanh, Linear<4>, CrossEntropy> {};
struct Pictures : Sequential<Image<2, 8, 8>, Conv<4, 3, Pad<1>>, BatchNorm, Relu, MaxPool<2>, Linear<24>, Relu,
                             Dropout<20>, Linear<4>, CrossEntropy> {};
template <class N, class... Ps> struct Of : Plan<N, Batch<24>, MicroBatches<8>, Ps...> {
  static constexpr Rate rate = Rate::constant(0.02f);
};
template <class N, class... Ps> using Parts = Of<N, DataParallel<Sync, Zero<1>>, Ps...>;
template <class N, class... Ps> using InTurn = Of<N, DataParallel<Sync, Zero<2>>, Ps...>;
template <class N, class... Ps> using Gathers = Of<N, DataParallel<Sync, Zero<3>>, Ps...>;
template <class N, class... Ps> using AtOnce = Of<N, DataParallel<Sync>, Ps...>;
template <int Slices, int Rounds, class... Zeros>
struct Dealt : Plan<Net, Batch<24>, MicroBatches<Slices>, Accumulate<Rounds>, DataParallel<Sync, Zeros...>, Adam> {
  static constexpr Rate rate = Rate::constant(0.02f);
};
struct Clipped : Adam {
  static constexpr float clip_norm = 0.5f;
};
struct Decays : AdamW {
  static constexpr ParameterGroup group(Parameter p) {
    return {.rate = p.layer < 3 ? 0.5f : 1.0f, .decay = p.is_matrix() ? 1.0f : 0.0f};
  }
};

/// Weights, moments and statistics after some steps; what was sent is what the constants say.
template <class P> std::vector<double> trained(int replicas, int steps = 6) {
  Trainer<P> t(replicas, 7);
  t.train(0, steps, signs::feed<P>());
  CHECK(session::miscounted(t, steps) == "");
  for (int r = P::ways; P::format.zero < 3 && r < t.ranks().world(); ++r) {
    for (long i = 0; i < P::schedule.weight_elements; ++i)
      REQUIRE(static_cast<float>(t.at(r).data_weights()[i]) == static_cast<float>(t.at(r % P::ways).data_weights()[i]));
  }
  return values(t);
}
template <class P> void equals(std::vector<double> const& wanted, std::initializer_list<int> replicas) {
  for (int n : replicas) CHECK(trained<P>(n) == wanted);
}
template <class N, class... Ps> void as_whole(std::initializer_list<int> replicas = {1, 2, 3, 4, 8}) {
  auto const wanted = trained<AtOnce<N, Ps...>>(1);
  equals<Parts<N, Ps...>>(wanted, replicas);
  equals<InTurn<N, Ps...>>(wanted, replicas);
  equals<Gathers<N, Ps...>>(wanted, replicas);
}
template <class N, class... Ps> void as_whole_split(std::initializer_list<int> replicas = {1, 2, 4}) {
  for (int n : replicas) {
    auto const wanted = trained<AtOnce<N, Ps...>>(n);
    CHECK(trained<Parts<N, Ps...>>(n) == wanted);
    CHECK(trained<InTurn<N, Ps...>>(n) == wanted);
    CHECK(trained<Gathers<N, Ps...>>(n) == wanted);
  }
}

/// Four steps by P on p replicas, three by Q on q from its file.
template <class P, class Q> void goes_on(std::vector<double> const& wanted, int p, int q) {
  INFO(p << " replicas, then " << q);
  scratch::Folder const folder;
  std::string const path = folder / "model.safetensors";
  Trainer<P> first(p, 7);
  first.train(0, 4, signs::feed<P>());
  session::save(first, path, 7);
  Trainer<Q> second(q, 7);
  session::load(second, path);
  CHECK(values(second) == values(first));
  second.train(4, 3, signs::feed<Q>());
  CHECK(values(second) == wanted);
}

constexpr long optimizer_bytes(schedule::Memory const& m) { return m[schedule::Category::Optimizer]; }
// Adam: 944 + 48 weights of 4 bytes, twice; parts of 3 buckets, rounded up, and to 64 bytes.
static_assert(memory<Parts<Net, Adam>, 1>.total == memory<AtOnce<Net, Adam>, 1>.total);
static_assert(optimizer_bytes(memory<AtOnce<Net, Adam>, 4>) == 8192);
static_assert(optimizer_bytes(memory<Parts<Net, Adam>, 4>) == 2048);
static_assert(memory<Parts<Net, Sgd>, 4>.total == memory<AtOnce<Net, Sgd>, 4>.total);
static_assert(traffic<Parts<Net, Adam>, 4>.bytes_per_step == traffic<AtOnce<Net, Adam>, 4>.bytes_per_step);
static_assert(traffic<Parts<Net, Adam, Precision<bf16>>, 4>.bytes_per_step ==
              traffic<AtOnce<Net, Adam, Precision<bf16>>, 4>.bytes_per_step);

// Of gradients there are two buckets at a time, of 504 or 400 and of 48 or 68; without, all 1020.
constexpr long gradient_bytes(schedule::Memory const& m) { return m[schedule::Category::Gradients]; }
static_assert(gradient_bytes(memory<AtOnce<Net, Adam>, 8>) == 4096);
static_assert(gradient_bytes(memory<InTurn<Net, Adam>, 8>) == 2304);

// With a norm also its part of the sum of each bucket; without other ranks all of it, and nothing twice.
static_assert(gradient_bytes(memory<InTurn<Net, Clipped>, 8>) == 2304 + 4 * (63 + 6 + 50 + 9));
static_assert(memory<InTurn<Net, Clipped>, 1>.total == memory<AtOnce<Net, Clipped>, 1>.total);
static_assert(traffic<InTurn<Net, Clipped>, 4>.bytes_per_step ==
              traffic<InTurn<Net, Adam>, 4>.bytes_per_step + 3 * 22 * 8);
static_assert(traffic<Gathers<Net, Clipped>, 4>.bytes_per_step ==
              traffic<Gathers<Net, Adam>, 4>.bytes_per_step + 3 * 22 * 8);
static_assert(traffic<Parts<Net, Clipped>, 4>.bytes_per_step ==
              traffic<AtOnce<Net, Adam>, 4>.bytes_per_step + 3 * 22 * 8);

// Weights: parts of all, and two buckets; each is gathered for the forward pass, and but for two for the backward pass.
static_assert(memory<Gathers<Net, Adam>, 8>[schedule::Category::Weights] == 4 * (63 + 6 + 50 + 9) + 2304);
static_assert(traffic<Gathers<Net, Adam>, 4>[op::Verb::AllGather] == 3 * ((504 + 48 + 400 + 68) + 48) / 4);

// In rounds: two buckets at a time, and a rank's part of the sum of each, here (126 + 12 + 100 + 17) elements, of a sum
// for each level of the tree over the rounds. Each round is summed over the ranks, and weights are gathered in each.
using Rounds = Gathers<Net, Adam, Accumulate<2>>;
template <int R, class... Ps>
constexpr long in_rounds = gradient_bytes(memory<InTurn<Net, Adam, Accumulate<R>, Ps...>, 4>);
static_assert(gradient_bytes(memory<Rounds, 4>) == 2304 + 1024);
static_assert(in_rounds<2> == 2304 + 1024);
static_assert(gradient_bytes(memory<Dealt<12, 4, Zero<2>>, 3>) == 2304 + 2752);  // twice (168 + 16 + 134 + 23)
static_assert(gradient_bytes(memory<InTurn<Net, Adam, Accumulate<2>>, 1>) ==
              gradient_bytes(memory<AtOnce<Net, Adam, Accumulate<2>>, 1>));
static_assert(traffic<Rounds, 4>[op::Verb::AllGather] == 2 * traffic<Gathers<Net, Adam>, 4>[op::Verb::AllGather]);
static_assert(traffic<Rounds, 4>[op::Verb::ReduceScatter] ==
              2 * traffic<Gathers<Net, Adam>, 4>[op::Verb::ReduceScatter]);

// 7.5 billion weights on 64 ranks, by Adam in bf16. The table of the paper (its figure 1) has 120 GB a rank, 31.4 in
// stage 1, 16.6 and 1.9. Here sums of gradients are f32, and their messages beside them, so that there is more of them;
// and where the paper has none, there are the two buckets that are being computed, of 28: smaller layers make these
// smaller.
template <int N> struct Wide : Wide<N - 1> {
  using layers = meta::concat<typename Wide<N - 1>::layers, meta::list<Linear<16384>, Relu>>;
};
template <> struct Wide<0> { using layers = meta::list<>; };
template <class> struct OfLayers;
template <class... Layers>
struct OfLayers<meta::list<Layers...>> : Sequential<Vector<16384>, Layers..., MeanSquaredError> {};
struct Large : OfLayers<Wide<28>::layers> {};
template <class Agreed> struct OfLarge : Plan<Large, Batch<64>, MicroBatches<64>, Agreed, Adam, Precision<bf16>> {};
constexpr long elements = 28L * (16384L * 16384 + 16384), layer = elements / 28;
static_assert(OfLarge<DataParallel<Sync>>::schedule.weight_elements == elements);
template <class... Zeros> constexpr schedule::Memory of_large = memory<OfLarge<DataParallel<Sync, Zeros...>>, 64>;
static_assert(of_large<>[schedule::Category::Weights] == (4 + 2) * elements);
static_assert(of_large<>[schedule::Category::Optimizer] == 8 * elements);
static_assert(of_large<Zero<1>>[schedule::Category::Weights] == 4 * elements / 64 + 2 * elements);
static_assert(of_large<Zero<1>>[schedule::Category::Optimizer] == 8 * elements / 64);
static_assert(of_large<Zero<2>>[schedule::Category::Gradients] == 2 * 4 * layer);
static_assert(of_large<Zero<2>>[schedule::Category::Communication] == 2 * 2 * layer);
static_assert(of_large<Zero<3>>[schedule::Category::Weights] == (4 + 2) * elements / 64 + 2 * 2 * layer);
static_assert(of_large<>.total / 100'000'000 == 1503);        // 150.3 GB
static_assert(of_large<Zero<1>>.total / 100'000'000 == 615);  // 61.5
static_assert(of_large<Zero<2>>.total / 100'000'000 == 196);  // 19.6
static_assert(of_large<Zero<3>>.total / 100'000'000 == 59);   // 5.9

}  // namespace

TEST_CASE("the bits of one rank on any number of replicas") {
  as_whole<Net, Momentum>();
  as_whole<Net, Adam>();
  as_whole<Net, Sgd>({3});
  as_whole<Net, Decays>({2, 3});
  as_whole<Pictures, Adam>({2, 3});
  as_whole<Net, Adam, Buckets<1_MiB>>({2, 3});
  auto const frozen = trained<AtOnce<Net, Adam, Freeze<2>>>(1);
  equals<Parts<Net, Adam, Freeze<2>>>(frozen, {1, 2, 3});
  equals<InTurn<Net, Adam, Freeze<2>>>(frozen, {2, 3});
}
TEST_CASE("in rounds, each of which is summed over the replicas") {
  as_whole<Net, Adam, Accumulate<2>>({1, 2, 3, 4});
  CHECK(trained<InTurn<Net, Adam, Accumulate<2>>>(2) == trained<AtOnce<Net, Adam>>(1));
  as_whole<Net, Momentum, Accumulate<4>, Buckets<1_MiB>>({2});
  as_whole<Net, Clipped, Accumulate<2>>({2, 3});
  as_whole<Net, Adam, Precision<bf16>, Accumulate<2>>({1, 2, 3});
  as_whole<Net, Adam, Precision<f16>, LossScale<1024, 2>, Accumulate<2>>({3});
  as_whole_split<Net, Adam, ModelParallel<SplitCols>, Accumulate<2>>({2, 3});
  as_whole_split<Net, Clipped, ModelParallel<SplitColsRows>, Precision<bf16>, Accumulate<2>>({2});
  as_whole_split<Net, Adam, ModelParallel<SplitBatch>, Accumulate<2>>({1, 2});
  equals<InTurn<Net, Adam, Freeze<2>, Accumulate<2>>>(trained<AtOnce<Net, Adam, Freeze<2>>>(1), {2, 3});
}
TEST_CASE("rounds of any number of micro-batches: a rank keeps the sums that are complete") {
  auto const wanted = trained<Dealt<12, 3>>(1);
  CHECK(trained<Dealt<12, 4, Zero<2>>>(3) == wanted);  // rounds of 3
  CHECK(trained<Dealt<12, 3, Zero<3>>>(2) == wanted);  // of 4
  CHECK(trained<Dealt<12, 5, Zero<2>>>(2) == wanted);  // of 2 and 3
  CHECK(trained<Dealt<12, 6, Zero<2>>>(2) == wanted);
  CHECK(trained<Dealt<24, 7, Zero<2>>>(3) == trained<Dealt<24, 1>>(1));
}
TEST_CASE("clipped by the norm over all gradients, or scaled back: each rank has the squares of its parts") {
  as_whole<Net, Clipped>();
  CHECK(trained<AtOnce<Net, Clipped>>(1) != trained<AtOnce<Net, Adam>>(1));
  as_whole<Pictures, Clipped, Buckets<4_KiB>>({2, 3});
  as_whole<Net, Clipped, Precision<f64>>({2, 3});
  as_whole<Net, Adam, Precision<f16>, LossScale<1024, 2>>({1, 2, 3});
  as_whole_split<Net, Clipped, Precision<bf16>, ModelParallel<SplitCols>>();
  as_whole_split<Net, Clipped, ModelParallel<SplitColsRows>>();
  as_whole_split<Net, Clipped, ModelParallel<SplitRows, Ways<4>>>({2});
  as_whole_split<Net, Clipped, ModelParallel<SplitBatch>>();
}
TEST_CASE("number formats") {
  as_whole<Net, Adam, Precision<bf16>>({2, 3});
  as_whole<Net, Momentum, Precision<f16>>({2, 3});
  as_whole<Net, Adam, Precision<f64>>({3});
  as_whole<Net, Adam, Precision<fp8>>({2});
}
TEST_CASE("split layers: the bits of the same split with whole optimizers") {
  as_whole_split<Net, Adam, ModelParallel<SplitCols>>();
  as_whole_split<Net, Adam, ModelParallel<SplitColsRows>>();
  as_whole_split<Net, Momentum, ModelParallel<SplitRows, Ways<4>>>({2});
  as_whole_split<Net, Adam, ModelParallel<SplitBatch>>();
  as_whole_split<Pictures, Adam, OneWeirdTrick<2>>();
  as_whole_split<Net, Adam, ModelParallel<SplitCols>, Precision<bf16>>({2});
}
TEST_CASE("in any order") {
  auto const wanted = trained<AtOnce<Net, Adam>>(1);
  auto const got = trained<Parts<Net, Adam, Fastest>>(3);
  for (std::size_t i = 0; i < got.size(); ++i) CHECK(got[i] == doctest::Approx(wanted[i]).epsilon(1e-3).scale(1));
  auto const in_turn = trained<InTurn<Net, Adam, Fastest, Accumulate<2>>>(3);
  for (std::size_t i = 0; i < got.size(); ++i) CHECK(in_turn[i] == doctest::Approx(wanted[i]).epsilon(1e-3).scale(1));
}
TEST_CASE("in any order and rounds, what is kept of the sums is f32 in a plan of bf16") {
  using P = InTurn<Net, Adam, Fastest, Accumulate<2>, Precision<bf16>>;
  static_assert(gradient_bytes(memory<P, 4>) == 2304 + 1024);
  auto const wanted = trained<AtOnce<Net, Adam, Fastest, Precision<bf16>>>(1), got = trained<P>(3);
  for (std::size_t i = 0; i < got.size(); ++i) CHECK(got[i] == doctest::Approx(wanted[i]).epsilon(0.02).scale(1));
}
TEST_CASE("checkpoints are whole: saved in parts and loaded whole, and back, on any number of replicas") {
  using P = Parts<Net, Adam>;
  using Q = AtOnce<Net, Adam>;
  auto const wanted = trained<Q>(1, 7);
  goes_on<P, Q>(wanted, 3, 2);
  goes_on<Q, P>(wanted, 2, 4);
  goes_on<P, P>(wanted, 4, 3);
  goes_on<P, P>(wanted, 3, 1);
  goes_on<InTurn<Net, Adam>, Q>(wanted, 3, 2);
  goes_on<P, InTurn<Net, Adam>>(wanted, 2, 4);
  goes_on<Gathers<Net, Adam>, Q>(wanted, 3, 2);
  goes_on<InTurn<Net, Adam>, Gathers<Net, Adam>>(wanted, 2, 4);
  using Narrow = Parts<Net, Adam, Precision<bf16>>;
  auto const narrow = trained<AtOnce<Net, Adam, Precision<bf16>>>(1, 7);
  goes_on<Narrow, AtOnce<Net, Adam, Precision<bf16>>>(narrow, 3, 2);
  goes_on<Narrow, Narrow>(narrow, 3, 2);
  goes_on<Narrow, Gathers<Net, Adam, Precision<bf16>>>(narrow, 3, 2);
  goes_on<Gathers<Net, Adam, Precision<bf16>>, Narrow>(narrow, 2, 3);
  using Frozen = Parts<Net, Adam, Freeze<2>>;
  goes_on<Frozen, Frozen>(trained<AtOnce<Net, Adam, Freeze<2>>>(1, 7), 3, 2);
}
TEST_CASE("fit, save and load of a program's own arrays") {
  std::vector<float> x;
  std::vector<int> y;
  for (int i = 0; i < 240; ++i) {
    for (int k = 0; k < 20; ++k)
      x.push_back(static_cast<float>((i * 7 + k * k * 3) % 11 + (k % 4 == i % 4 ? 6 : 0)) / 8);
    y.push_back(i % 4);
  }
  auto const loss = [&](auto plan) {
    Trainer<typename decltype(plan)::type> trainer({.replicas = 3});
    return trainer.fit(x, y, {.epochs = 4, .validation = 0.25}).epochs.back().val_loss;
  };
  double const wanted = loss(std::type_identity<AtOnce<Net, Adam>>{});
  CHECK(loss(std::type_identity<Parts<Net, Adam>>{}) == wanted);
  CHECK(loss(std::type_identity<Gathers<Net, Adam>>{}) == wanted);
}
