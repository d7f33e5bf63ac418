// train/experts.cpp - mixtures of experts by each split: a few steps against one rank, traffic, bits, formats, devices.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave.hpp>
#include <cleave/predict/routing.hpp>
#include <cleave/train/emulated.hpp>

#include "../io/scratch.hpp"
#include "values.hpp"

using namespace cleave;

namespace {

constexpr int positions = 6, letters = 16;
template <class... Words>
using Block = Path<Residual<PerPosition<LayerNorm>, Attention<2, Causal>>,
                   Residual<PerPosition<LayerNorm>, Experts<4, Words...>>>;
struct Gpt : Sequential<Vector<positions>, Embedding<letters, 8, SendDense>, Block<Linear<12>, Gelu, Linear<8>>,
                        PerPosition<LayerNorm, Linear<letters>, CrossEntropy>> {};
/// Of Llama's kind, with three for each position, two blocks, and few places.
struct Gated : Sequential<Vector<positions>, Embedding<letters, 8, SendDense>,
                          Repeat<2, Block<TopExperts<3>, CapacityPercent<60>, SwiGlu<12>, Linear<8, NoBias>>>,
                          PerPosition<LayerNorm, Linear<letters>, CrossEntropy>> {};
/// Each position through one of them.
struct Switch : Sequential<Vector<positions>, Embedding<letters, 8, SendDense>,
                           Block<TopExperts<1>, LoadBalance<20>, Linear<12>, Relu, Dropout<20>, Linear<8>>,
                           PerPosition<LayerNorm, Linear<letters>, CrossEntropy>> {};
template <class N, class Number, class... Ps> struct In : Plan<N, Batch<8>, MicroBatches<4>, Precision<Number>, Ps...> {
  static constexpr Rate rate = Rate::constant(0.1f);
};
int token(long sample, long k) { return static_cast<int>((sample * 5 + k * k * 3 + sample * k) % letters); }
template <class P> backend::host::Feed feed() {
  return {nullptr,
          [](void const*, long step, long first, int count, float* out) {
            for (long s = 0; s < count; ++s)
              for (long k = 0; k < positions; ++k) *out++ = static_cast<float>(token(step * 8 + first + s, k));
          },
          [](void const*, long step, long first, int count, int* out) {
            for (long s = 0; s < count; ++s)
              for (long k = 0; k < positions; ++k) *out++ = token(step * 8 + first + s, k + 1);
          }};
}
template <class P> std::vector<double> trained(int replicas, int steps = 4) {
  Trainer<P> t(replicas, 5);
  t.train(0, steps, feed<P>());
  CHECK(session::miscounted(t, steps) == "");
  return values(t);
}
void near(std::vector<double> const& got, std::vector<double> const& wanted, double within) {
  REQUIRE(got.size() == wanted.size());
  double most = 0;
  for (std::size_t i = 0; i < got.size(); ++i) most = std::max(most, std::abs(got[i] - wanted[i]));
  CHECK(most <= within);
}
/// Conversions forward.
template <class P> constexpr int conversions(op::Verb verb) {
  int n = 0;
  for (int k = 0; k < P::placed.count; ++k) n += P::placed.node[k].conversion.forward == verb;
  return n;
}
using Sum = ModelParallel<SplitColsRows, Ways<2>>;
using AllToAll = ModelParallel<SplitExperts, Ways<2>>;
template <class N, class... Ps>
void as_one_rank(std::vector<double> const& wanted, int replicas, double within = 1e-9) {
  near(trained<In<N, f64, Ps...>>(replicas), wanted, within);
}

}  // namespace

TEST_CASE("whole experts on ranks, by sums and by all-to-alls, beside replicas: the training of one rank") {
  auto const wanted = trained<In<Gpt, f64>>(1);
  as_one_rank<Gpt, DataParallel<Sync>>(wanted, 2, 0);
  as_one_rank<Gpt, DataParallel<Sync>, ModelParallel<SplitCols, Ways<2>>>(wanted, 2);
  as_one_rank<Gpt, ModelParallel<SplitRows, Ways<2>>>(wanted, 1);
  as_one_rank<Gpt, DataParallel<Sync>, ModelParallel<SplitBatch, Ways<2>>>(wanted, 2);
  as_one_rank<Gpt, ModelParallel<SplitExperts, Ways<4>>>(wanted, 1);
  as_one_rank<Gpt, ModelParallel<SplitAlong<SplitExperts, SplitColsRows>, Ways<2, 2>>>(wanted, 1);
  as_one_rank<Gpt, DataParallel<Sync, Zero<1>>, AllToAll>(wanted, 2);
  as_one_rank<Gpt, DataParallel<Sync, Zero<2>>, Sum>(wanted, 2);
  as_one_rank<Gpt, DataParallel<Sync, Zero<3>>, AllToAll>(wanted, 2);
}
TEST_CASE("over one of two axes, on a layer, and not at all where ranks cannot have as many") {
  auto const wanted = trained<In<Gpt, f64>>(1);
  using Along = In<Gpt, f64, ModelParallel<SplitAlong<SplitBatch, SplitExperts>, Ways<2, 2>>>;
  static_assert(conversions<Along>(op::Verb::AllToAll) == 2);
  near(trained<Along>(1), wanted, 1e-9);
  struct Whole6 : Sequential<Vector<positions>, Embedding<letters, 8, SendDense>,
                             Experts<6, Linear<12, ModelParallel<Whole>>, Gelu, Linear<8, ModelParallel<Whole>>>,
                             PerPosition<Linear<letters>, CrossEntropy>> {};
  near(trained<In<Whole6, f64, ModelParallel<SplitCols, Ways<4>>>>(1), trained<In<Whole6, f64>>(1), 1e-9);
  using Own = ModelParallel<SplitExperts>;
  struct Said : Sequential<Vector<positions>, Embedding<letters, 8, SendDense>,
                           Block<Linear<12, Own>, Gelu, Linear<8, Own>>, PerPosition<Linear<letters>, CrossEntropy>> {};
  using OfLayers = In<Said, f64, ModelParallel<SplitBatch, Ways<2>>>;
  static_assert(conversions<OfLayers>(op::Verb::AllToAll) == 2);
  near(trained<OfLayers>(1), trained<In<Said, f64>>(1), 1e-9);
}
TEST_CASE_TEMPLATE("of Llama's kind with dropped positions, and of one for each position", N, Gated, Switch) {
  auto const wanted = trained<In<N, f64>>(1);
  as_one_rank<N, DataParallel<Sync>, Sum>(wanted, 2);
  as_one_rank<N, DataParallel<Sync>, AllToAll>(wanted, 2);
}
TEST_CASE("a step sends what its constants say: two sums a pass, or two all-to-alls of the places") {
  using Sums = In<Gpt, f32, Sum>;
  using Exchanged = In<Gpt, f32, AllToAll>;
  static_assert(conversions<Sums>(op::Verb::AllReduce) == 2);  // of attention and of experts
  static_assert(conversions<Exchanged>(op::Verb::AllToAll) == 2);
  static_assert(conversions<Exchanged>(op::Verb::AllReduce) == 0);
  // Of the two ranks each sends half of the places of its samples: 4 experts with 4 places of 8 features each, there
  // and back, in each pass; and the gradients of all weights but the experts' own.
  constexpr long places = 4 * 4 * 8, experts = 4 * (8 * 12 + 12 + 12 * 8 + 8);
  static_assert(traffic<Exchanged, 1>.elements_per_step ==
                8 / 2 * places / 2 * 4 + Exchanged::schedule.weight_elements - experts / 2);
}
TEST_CASE("by all-to-alls the bits of one rank, on CPUs") {
  using One = In<Gpt, f32>;
  using Exchanged = In<Gpt, f32, AllToAll>;
  CHECK(trained<Exchanged>(1) == trained<One>(1));
  static_assert(plan::bits_differ_by<One, In<Gpt, f32, Sum>>() == plan::BitsDifference::Split);
}
TEST_CASE("in narrow formats, in rounds, recomputed, and in a pipeline") {
  auto const wanted = trained<In<Gpt, f32>>(1);
  near(trained<In<Gpt, bf16, AllToAll>>(1), trained<In<Gpt, bf16>>(1), 2e-3);
  near(trained<In<Gpt, f16, LossScale<64, 100>, Sum>>(1), trained<In<Gpt, f16, LossScale<64, 100>>>(1), 2e-3);
  auto weights = trained<In<Switch, f32, LossScale<64, 100>>>(1);  // which the balancing loss is told of
  weights.resize(weights.size() - 2);
  near(weights, trained<In<Switch, f32>>(1), 0);
  near(trained<In<Gpt, f32, Accumulate<2>, AllToAll>>(1), wanted, 1e-5);
  near(trained<In<Gpt, f32, ModelParallel<SplitLayers<2>>>>(1), wanted, 1e-5);
  struct Again
      : Sequential<Vector<positions>, Embedding<letters, 8, SendDense>, Recompute<Block<Linear<12>, Gelu, Linear<8>>>,
                   PerPosition<LayerNorm, Linear<letters>, CrossEntropy>> {};
  near(trained<In<Again, f32>>(1), wanted, 1e-6);
}
TEST_CASE_TEMPLATE("on a device", N, Gpt, Gated) {
  auto const on_device = []<class P>(meta::type<P>, int replicas) {
    DeviceTrainer<P, backend::emulate::Machine> t(replicas, 5, std::make_unique<backend::emulate::Machine>(3u));
    t.train(0, 3, feed<P>());
    CHECK(session::miscounted(t, 3) == "");
    return values(t);
  };
  auto const wanted = trained<In<N, f64>>(1, 3);
  near(on_device(meta::type<In<N, f64, DataParallel<Sync>>>{}, 2), wanted, 1e-9);
  near(on_device(meta::type<In<N, f64, ModelParallel<SplitExperts, Ways<2>>>>{}, 1), wanted, 1e-9);
  near(on_device(meta::type<In<N, f64, ModelParallel<SplitColsRows, Ways<2>>>>{}, 1), wanted, 1e-9);
}
TEST_CASE("routing_of a model with a tied table") {
  struct OneTable : Sequential<Vector<positions>, Embedding<letters, 8, Tied>, Block<Linear<12>, Gelu, Linear<8>>,
                               PerPosition<Linear<letters, NoBias, Tied>, CrossEntropy>> {};
  Trainer<In<OneTable, f32>> t(1, 5);
  std::vector<float> const x(positions, 3);
  CHECK(routing_of(t, x).choices == 2 * positions);
}
TEST_CASE("routing_of counts what experts take and drop, of a trainer and of its checkpoint") {
  using P = In<Gated, f32, ModelParallel<SplitColsRows, Ways<2>>>;
  Trainer<P> t(1, 5);
  std::vector<float> x;
  for (int i = 0; i < 40 * positions; ++i) x.push_back(static_cast<float>(i * i * 7 % letters));
  Routing const first = routing_of(t, x), second = routing_of<1>(t, x);
  CHECK(first.positions == 40 * positions);
  CHECK(first.choices == 3 * first.positions);
  // Of six positions, three experts of four each: 4.5 an expert if even, and places for 60 percent of that, 3.
  CHECK(first.dropped >= first.choices - 40 * 4 * 3);
  long taken = 0;
  for (long n : first.taken) {
    taken += n;
    CHECK(n <= 40 * 3);
  }
  CHECK(taken + first.dropped == first.choices);
  CHECK(first.taken.size() == 4);
  CHECK(second.choices == first.choices);
  scratch::Folder const folder;
  session::save(t, folder / "model.safetensors", 5);
  Routing const of_file = routing_of<Gated>(folder / "model.safetensors", x);
  CHECK(of_file.taken == first.taken);
  CHECK(of_file.dropped_share() ==
        doctest::Approx(static_cast<double>(first.dropped) / static_cast<double>(first.choices)));
}
