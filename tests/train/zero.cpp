// train/zero.cpp - optimizers in parts, and gradients in turn: the bits, the traffic and the checkpoints of whole ones, with
// a part of the memory.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave.hpp>

#include "../io/scratch.hpp"
#include "signs.hpp"

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
template <class N, class... Ps> using AtOnce = Of<N, DataParallel<Sync>, Ps...>;
struct Decays : AdamW {
  static constexpr ParameterGroup group(Parameter p) {
    return {.rate = p.layer < 3 ? 0.5f : 1.0f, .decay = p.is_matrix() ? 1.0f : 0.0f};
  }
};

template <class P> std::vector<double> values(Trainer<P>& t) {
  std::vector<double> out;
  for (session::Kept const& k : session::kept<P>()) {
    for (auto v : session::whole(t, k)) out.push_back(static_cast<double>(v));
  }
  return out;
}
/// Weights, moments and statistics after some steps; what was sent is what the constants say.
template <class P> std::vector<double> trained(int replicas, int steps = 6) {
  Trainer<P> t(replicas, 7);
  t.train(0, steps, signs::feed<P>());
  CHECK(session::miscounted(t, steps) == "");
  if constexpr (std::is_same_v<typename P::number,
                               f32>) {  // of narrower formats a rank has its part of the sums' format
    for (int r = P::ways; r < t.ranks().world(); ++r) {
      for (long i = 0; i < P::schedule.weight_elements; ++i)
        REQUIRE(t.at(r).weights()[i] == t.at(r % P::ways).weights()[i]);
    }
  }
  for (int r = P::ways; r < t.ranks().world(); ++r) {
    for (long i = 0; i < P::schedule.weight_elements; ++i)
      REQUIRE(static_cast<float>(t.at(r).data_weights()[i]) == static_cast<float>(t.at(r % P::ways).data_weights()[i]));
  }
  return values(t);
}
template <class N, class... Ps> void as_whole(std::initializer_list<int> replicas = {1, 2, 3, 4, 8}) {
  auto const wanted = trained<AtOnce<N, Ps...>>(1);
  for (int n : replicas) CHECK(trained<Parts<N, Ps...>>(n) == wanted);
  if constexpr (Parts<N, Ps...>::rounds == 1) {
    for (int n : replicas) CHECK(trained<InTurn<N, Ps...>>(n) == wanted);
  }
}
template <class N, class... Ps> void as_whole_split(std::initializer_list<int> replicas = {1, 2, 4}) {
  for (int n : replicas) {
    auto const wanted = trained<AtOnce<N, Ps...>>(n);
    CHECK(trained<Parts<N, Ps...>>(n) == wanted);
    CHECK(trained<InTurn<N, Ps...>>(n) == wanted);
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

// 7.5 billion weights on 64 ranks, as in the paper's table: of Adam's 60 GB a rank has 0.94 GB.
template <int N> struct Wide : Wide<N - 1> {
  using layers = meta::concat<typename Wide<N - 1>::layers, meta::list<Linear<16384>, Relu>>;
};
template <> struct Wide<0> { using layers = meta::list<>; };
template <class> struct OfLayers;
template <class... Layers>
struct OfLayers<meta::list<Layers...>> : Sequential<Vector<16384>, Layers..., MeanSquaredError> {};
struct Large : OfLayers<Wide<28>::layers> {};
struct LargeParts : Plan<Large, Batch<64>, MicroBatches<64>, DataParallel<Sync, Zero<1>>, Adam> {};
struct LargeWhole : Plan<Large, Batch<64>, MicroBatches<64>, DataParallel<Sync>, Adam> {};
static_assert(LargeWhole::schedule.weight_elements == 28L * (16384L * 16384 + 16384));
static_assert(optimizer_bytes(memory<LargeWhole, 64>) == 2 * 4 * LargeWhole::schedule.weight_elements);
static_assert(optimizer_bytes(memory<LargeParts, 64>) == 2 * 4 * LargeWhole::schedule.weight_elements / 64);
static_assert(optimizer_bytes(memory<LargeParts, 64>) / 1'000'000 == 939);
struct LargeInTurn : Plan<Large, Batch<64>, MicroBatches<64>, DataParallel<Sync, Zero<2>>, Adam> {};
static_assert(gradient_bytes(memory<LargeWhole, 64>) == 4 * LargeWhole::schedule.weight_elements);
static_assert(gradient_bytes(memory<LargeInTurn, 64>) == 2 * 4 * (16384L * 16384 + 16384));  // 2.1 of 30 GB

}  // namespace

TEST_CASE("the bits of one rank on any number of replicas") {
  as_whole<Net, Momentum>();
  as_whole<Net, Adam>();
  as_whole<Net, Sgd>({3});
  as_whole<Net, Decays>({2, 3});
  as_whole<Pictures, Adam>({2, 3});
  as_whole<Net, Adam, Buckets<1_MiB>>({2, 3});
  as_whole<Net, Adam, Accumulate<2>>({2, 3});
  as_whole<Net, Adam, Freeze<2>>({1, 2, 3});
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
  using Narrow = Parts<Net, Adam, Precision<bf16>>;
  auto const narrow = trained<AtOnce<Net, Adam, Precision<bf16>>>(1, 7);
  goes_on<Narrow, AtOnce<Net, Adam, Precision<bf16>>>(narrow, 3, 2);
  goes_on<Narrow, Narrow>(narrow, 3, 2);
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
  CHECK(loss(std::type_identity<Parts<Net, Adam>>{}) == loss(std::type_identity<AtOnce<Net, Adam>>{}));
}
TEST_CASE("on a device it is refused, in one line") {
  CHECK(session::stays_on_host<Parts<Net, Adam>>() == "an optimizer in parts (Zero)");
}
