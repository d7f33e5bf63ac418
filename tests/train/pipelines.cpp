// train/pipelines.cpp - layers in stages: the bits, the checkpoints and the losses of one rank; traffic and memory are the
// constants.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave.hpp>

#include "pipelines.hpp"

namespace {

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
TEST_CASE("every order of 2 to 4 stages gives the bits of one rank") {
  orders<Deep, Momentum>();
  auto const wanted = trained<Of<Deep, Momentum>>(1);
  as_one_rank<Deep, Stages_<2>, Momentum>(wanted, {1, 2, 3});
  as_one_rank<Deep, Stages_<2, GPipe>, Momentum>(wanted, {1, 2});
  as_one_rank<Deep, Stages_<4, Interleaved<2>>, Momentum>(wanted, {1});
}
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
TEST_CASE("a stage has the layers that the plan says, and a skip passes others") {
  auto const wanted = trained<Of<Skips, Momentum>>(1);
  using Order = Stages_<3, OneForwardOneBackward, FirstLayers<3, 5>>;
  CHECK(trained<Of<Skips, Order, Momentum>>(1) == wanted);
  CHECK(trained<Of<Skips, Order, Momentum>>(2) == wanted);
  CHECK(trained<Of<Skips, Stages_<2, GPipe>, Momentum>>(3) == wanted);
}
TEST_CASE("one micro-batch, whose gradients are stepped as they are computed") {
  auto const one = []<class... Ps>(meta::list<Ps...>) {
    struct P : Plan<Deep, Batch<7>, MicroBatches<1>, DataParallel<Sync>, Ps...> {};
    return trained<P>(1);
  };
  CHECK(one(meta::list<Momentum, Stages_<2>>{}) == one(meta::list<Momentum>{}));
  CHECK(one(meta::list<Precision<bf16>, Adam, Stages_<3>>{}) == one(meta::list<Precision<bf16>, Adam>{}));
}
TEST_CASE("rounds are those of Accumulate; a batch may be split further over the ways of a stage") {
  auto const wanted = trained<Of<Pictures, Sgd>>(1);
  CHECK(trained<Of<Pictures, Stages_<2>, Accumulate<8>, Sgd>>(2) == wanted);
  CHECK(trained<Of<Pictures, Stages_<2>, Accumulate<2>, ModelParallel<SplitBatch, Ways<2>>, Sgd>>(2) == wanted);
  CHECK(trained<Of<Pictures, Stages_<3>, Accumulate<1>, Sgd>>(2) == wanted);
}
TEST_CASE("layers are on the stages that they are pinned to, with the bits of one rank") {
  struct Pinned : Sequential<Vector<20>, Linear<24>, LayerNorm, Relu, Pin<1, Linear<16>, Tanh>, Linear<16>, Relu,
                             Linear<16>, Tanh, Pin<1, Linear<12>>, Tanh, Prefer<0, Linear<4>>, CrossEntropy> {};
  auto const wanted = trained<Of<Pinned, Adam>>(1);
  CHECK(schedule::text::pipeline(schedule::program<Of<Pinned, Stages_<3>, Adam>>).find("stage 1: layers 3 to 10;") !=
        std::string::npos);
  as_one_rank<Pinned, Stages_<3>, Adam>(wanted, {1, 2});
  as_one_rank<Pinned, Stages_<2, GPipe>, Adam>(wanted, {1});
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
