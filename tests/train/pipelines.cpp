// train/pipelines.cpp - layers in stages: the bits, the checkpoints and the losses of one rank, whatever the order; traffic and
// memory are the constants.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave.hpp>

#include "../io/scratch.hpp"
#include "signs.hpp"
#include "values.hpp"

using namespace cleave;

namespace {

struct Deep : Sequential<Vector<20>, Linear<24>, LayerNorm, Relu, Linear<16>, Tanh, Linear<16>, Relu, Linear<12>, Tanh,
                         Linear<12>, Relu, Linear<8>, Tanh, Linear<8>, Relu, Linear<4>, CrossEntropy> {};
struct Pictures : Sequential<Image<2, 8, 8>, Conv<4, 3, Pad<1>>, Relu, MaxPool<2>, Conv<8, 3, Pad<1>>, Relu, Linear<24>,
                             Dropout<20>, Linear<4>, CrossEntropy> {};
/// Its skip passes from the first stage to the last, if there are stages at layers 2 and 4.
struct Skips : Sequential<Vector<20>, Linear<16>, Residual<Linear<16>, Tanh, Linear<16>, Tanh, Linear<16>>, Relu,
                          Linear<4>, CrossEntropy> {};
struct InputSkip : Sequential<Vector<20>, Residual<Linear<20>, Tanh, Linear<20>>, Relu, Residual<Linear<20>, Relu>,
                              Linear<4>, CrossEntropy> {};
struct Gates : Sequential<Vector<20>, Linear<16>, Branches<Times, Path<Linear<16>, Sigmoid>, Path<>>, Linear<8>,
                          Branches<Concat, Path<Linear<4>>, Path<Tanh>>, Linear<4>, CrossEntropy> {};
/// A value is read twice in one part and once in a later one, if there are stages at layers 1 and 4.
struct Again
    : Sequential<Vector<20>, Linear<16>, Residual<Branches<Times, Path<Linear<16>, Sigmoid>, Path<Tanh>>, Linear<16>>,
                 Linear<4>, CrossEntropy> {};
template <int... Layers>
using At = ModelParallel<SplitLayers<int{sizeof...(Layers)} + 1, OneForwardOneBackward, FirstLayers<Layers...>>>;
template <class N, class... Ps> struct Of : Plan<N, Batch<32>, MicroBatches<16>, DataParallel<Sync>, Ps...> {
  static constexpr Rate rate = Rate::constant(0.02f);
};
template <class N, class... Ps>
struct InParts : Plan<N, Batch<32>, MicroBatches<16>, DataParallel<Sync, Zero<1>>, Ps...> {
  static constexpr Rate rate = Rate::constant(0.02f);
};
struct Clipped : Adam {
  static constexpr float clip_norm = 0.05f;
};
template <int Stages, class... Order> using Stages_ = ModelParallel<SplitLayers<Stages, Order...>>;

/// Weights, moments and statistics after some steps, then the loss and the accuracy of an evaluation whose last batch
/// is cut; what was sent and what was allocated is what the constants say.
template <class P> std::vector<double> trained(int replicas, int steps = 4) {
  Trainer<P> t(replicas, 7);
  t.train(0, steps, signs::feed<P>());
  CHECK(session::miscounted(t, steps) == "");
  std::vector<double> out = values(t);
  auto const score = t.score(signs::feed<P>(), 3 * P::batch - 5);
  out.insert(out.end(), {static_cast<float>(score.loss), score.accuracy, static_cast<double>(score.samples)});
  out.push_back(t.train(steps, 1, signs::feed<P>())[0]);
  return out;
}
template <class N, class... Ps> void orders() {
  auto const wanted = trained<Of<N, Ps...>>(1);
  auto const equal = [&]<class Split>(meta::type<Split>, std::initializer_list<int> replicas) {
    for (int n : replicas) {
      CAPTURE(n);
      CAPTURE(schedule::text::pipeline(schedule::program<Of<N, Split, Ps...>>));
      CHECK(trained<Of<N, Split, Ps...>>(n) == wanted);
    }
  };
  equal(meta::type<Stages_<2>>{}, {1, 2, 3});
  equal(meta::type<Stages_<2, GPipe>>{}, {1, 2});
  equal(meta::type<Stages_<3, GPipe>>{}, {1});
  equal(meta::type<Stages_<4>>{}, {1, 2});
  equal(meta::type<Stages_<2, Interleaved<2>>>{}, {1, 2});
  equal(meta::type<Stages_<4, Interleaved<2>>>{}, {1});
}

// Each with its own weights, which are all; 1F1B keeps what p - s rounds have made, GPipe that of all 8.
using ByFour = Of<Deep, Stages_<4>, Adam>;
constexpr long optimizer(schedule::Memory const& m) { return m[schedule::Category::Optimizer]; }
constexpr long activations(schedule::Memory const& m) { return m[schedule::Category::Activations]; }
static_assert(optimizer(memory_of_stage<ByFour, 0>) == 2 * 4 * (20 * 24 + 24 + 2 * 24));
static_assert(optimizer(memory_of_stage<ByFour, 0>) + optimizer(memory_of_stage<ByFour, 1>) +
                  optimizer(memory_of_stage<ByFour, 2>) + optimizer(memory_of_stage<ByFour, 3>) - 2 * 4 * 1796 <
              4 * 64);
static_assert(ByFour::schedule.weight_elements == 1796 && ByFour::rounds == 8);
// Rounds that a plan does not say: those that its micro-batches and replicas leave.
static_assert(Plan<Deep, Batch<32>, MicroBatches<4>, Stages_<4>>::rounds == 4);
static_assert(Plan<Deep, Batch<16>, DataParallel<Sync>, Mesh<Data<4>>, Stages_<4>>::rounds == 4);
static_assert(ByFour::pipeline_tables.in_flight[0] == 4 && ByFour::pipeline_tables.in_flight[3] == 1);
static_assert(memory<ByFour>.total == memory_of_stage<ByFour, 0>.total);
static_assert(activations(memory_of_stage<ByFour, 0>) <
              activations(memory_of_stage<Of<Deep, Stages_<4, GPipe>, Adam>, 0>));
static_assert(schedule::bubble(ByFour::pipeline) == 3.0 / 11);
// 24 and 16 numbers of 32 samples go forward and back between the stages, each once.
static_assert(volumes<ByFour, 1>.elements_of_all == 2 * 32 * (24 + 16 + 12));
static_assert(traffic<ByFour, 1, 0>.messages == 8 && traffic<ByFour, 1, 1>.messages == 16);

}  // namespace

TEST_CASE("every order of 2 to 4 stages gives the bits of one rank") { orders<Deep, Momentum>(); }
TEST_CASE("... in bf16, by Adam") { orders<Deep, Precision<bf16>, Adam>(); }
TEST_CASE("... in f64") { orders<Deep, Precision<f64>>(); }
TEST_CASE("... with layers frozen") { orders<Deep, Precision<f64>, Freeze<4>>(); }
TEST_CASE("... of pictures, with dropout and buckets of several layers") { orders<Pictures, Buckets<4096>, Adam>(); }
TEST_CASE("... with gradients clipped by their norm over all stages") { orders<Deep, Clipped, Buckets<1024>>(); }
TEST_CASE("... clipped, split by columns and rows") { orders<Deep, Clipped, ModelParallel<SplitColsRows, Ways<2>>>(); }
TEST_CASE("... with a loss scale") { orders<Deep, Precision<f16>, LossScale<1 << 20, 2>, Momentum>(); }
TEST_CASE("... clipped, with an optimizer in parts") {
  auto const wanted = trained<Of<Deep, Clipped>>(1);
  CHECK(trained<InParts<Deep, Stages_<2>, Clipped>>(3) == wanted);
  CHECK(trained<InParts<Deep, Stages_<2, Interleaved<2>>, Clipped>>(2) == wanted);
}
TEST_CASE("... with an optimizer in parts") {
  auto const equal = [&]<class... Ps>(meta::list<Ps...>) {
    auto const wanted = trained<Of<Deep, Adam, Ps...>>(1);
    for (int n : {1, 2, 3, 4}) {
      CHECK(trained<InParts<Deep, Stages_<2>, Adam, Ps...>>(n) == wanted);
      CHECK(trained<InParts<Deep, Stages_<2, Interleaved<2>>, Adam, Ps...>>(n) == wanted);
    }
    CHECK(trained<InParts<Deep, Stages_<3, GPipe>, Adam, Ps...>>(2) == wanted);
  };
  equal(meta::list<>{});
  equal(meta::list<Precision<bf16>, Buckets<1024>>{});
  equal(meta::list<Freeze<4>>{});
}
TEST_CASE("... in order of the ranks, where each product is split by columns and rows") {
  orders<Deep, ModelParallel<SplitColsRows, Ways<2>>, Momentum>();
}
TEST_CASE("a stage has the layers that the plan says, and a skip passes others") {
  auto const wanted = trained<Of<Skips, Momentum>>(1);
  using Order = Stages_<3, OneForwardOneBackward, FirstLayers<3, 5>>;
  CHECK(trained<Of<Skips, Order, Momentum>>(1) == wanted);
  CHECK(trained<Of<Skips, Order, Momentum>>(2) == wanted);
  CHECK(trained<Of<Skips, Stages_<2, GPipe>, Momentum>>(3) == wanted);
}
TEST_CASE("a skip passes whole parts of an interleaved order, and parts of its own stage") {
  auto const wanted = trained<Of<Skips, Momentum>>(1);
  CHECK(trained<Of<Skips, Stages_<2, Interleaved<2>>, Momentum>>(1) == wanted);
  CHECK(trained<Of<Skips, Stages_<2, Interleaved<2>, FirstLayers<2, 4, 7>>, Momentum>>(2) == wanted);
  struct Twelve : Plan<Skips, Batch<36>, MicroBatches<12>, DataParallel<Sync>, Momentum> {};
  struct SixParts : Plan<Skips, Batch<36>, MicroBatches<12>, DataParallel<Sync>, Momentum, Accumulate<6>,
                         Stages_<3, Interleaved<2>, FirstLayers<1, 2, 3, 5, 7>>> {};
  CHECK(trained<SixParts>(1) == trained<Twelve>(1));
}
TEST_CASE("the gradient of a value that several parts read is added in the order of one rank") {
  auto const wanted = trained<Of<Again, Momentum>>(1);
  CHECK(trained<Of<Again, At<1, 4>, Momentum>>(1) == wanted);
  CHECK(trained<Of<Again, At<1, 2, 4>, Momentum>>(2) == wanted);
}
TEST_CASE("one micro-batch, whose gradients are stepped as they are computed") {
  auto const one = []<class... Ps>(meta::list<Ps...>) {
    struct P : Plan<Deep, Batch<7>, MicroBatches<1>, DataParallel<Sync>, Ps...> {};
    return trained<P>(1);
  };
  CHECK(one(meta::list<Momentum, Stages_<2>>{}) == one(meta::list<Momentum>{}));
  CHECK(one(meta::list<Precision<bf16>, Adam, Stages_<3>>{}) == one(meta::list<Precision<bf16>, Adam>{}));
}
TEST_CASE("stages begin anywhere: within a skip of the input, a branch, with the loss alone") {
  auto const equal = [&]<class N, class... Splits>(meta::type<N>, meta::list<Splits...>) {
    auto const wanted = trained<Of<N, Adam>>(1);
    auto const one = [&]<class Split>(meta::type<Split>) {
      CHECK(trained<Of<N, Split, Adam>>(1) == wanted);
      CHECK(trained<Of<N, Split, Adam>>(2) == wanted);
    };
    (one(meta::type<Splits>{}), ...);
  };
  equal(meta::type<InputSkip>{}, meta::list<At<1>, At<2, 3>, At<1, 2, 3, 4>, At<2, 4, 5, 6>>{});
  equal(meta::type<Gates>{}, meta::list<At<1>, At<2, 3>, At<1, 2, 3, 4, 5>>{});
  equal(meta::type<Skips>{}, meta::list<At<7>, At<2, 5, 6>>{});
}
TEST_CASE("rounds are those of Accumulate; a batch may be split further over the ways of a stage") {
  auto const wanted = trained<Of<Pictures, Sgd>>(1);
  CHECK(trained<Of<Pictures, Stages_<2>, Accumulate<8>, Sgd>>(2) == wanted);
  CHECK(trained<Of<Pictures, Stages_<2>, Accumulate<2>, ModelParallel<SplitBatch, Ways<2>>, Sgd>>(2) == wanted);
  CHECK(trained<Of<Pictures, Stages_<3>, Accumulate<1>, Sgd>>(2) == wanted);
}
TEST_CASE("a checkpoint goes on in other stages, and without") {
  using One = Of<Deep, Adam>;
  using Three = Of<Deep, Stages_<3>, Adam>;
  using Four = Of<Deep, Stages_<2, Interleaved<2>>, Adam>;
  auto const wanted = trained<One>(1);
  scratch::Folder const folder;
  auto const goes_on = [&]<class P, class Q>(meta::type<P>, meta::type<Q>, int p, int q) {
    std::string const path = folder / "model.safetensors";
    Trainer<P> first(p, 7);
    first.train(0, 2, signs::feed<P>());
    session::save(first, path, 7);
    Trainer<Q> second(q, 8);
    session::load(second, path);
    CHECK(values(second) == values(first));
    second.train(2, 2, signs::feed<Q>());
    std::vector<double> const got = values(second);
    CHECK(std::equal(got.begin(), got.end(), wanted.begin()));
  };
  goes_on(meta::type<One>{}, meta::type<Three>{}, 2, 1);
  goes_on(meta::type<Three>{}, meta::type<Four>{}, 1, 2);
  goes_on(meta::type<Four>{}, meta::type<One>{}, 2, 3);
}
