// train/pipeline_orders.cpp - stages in every order and from every layer on, in each number format and with each option that
// changes the step, have the bits of one rank.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave.hpp>

#include "pipelines.hpp"

namespace {

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

}  // namespace

TEST_CASE("each order gives the bits of one rank in bf16, by Adam") { orders<Deep, Precision<bf16>, Adam>(); }
TEST_CASE("... in f64") { orders<Deep, Precision<f64>>(); }
TEST_CASE("... with layers frozen") { orders<Deep, Precision<f64>, Freeze<4>>(); }
TEST_CASE("... of pictures, with dropout and buckets of several layers") { orders<Pictures, Buckets<4096>, Adam>(); }
TEST_CASE("... with gradients clipped by their norm over all stages") { orders<Deep, Clipped, Buckets<1024>>(); }
TEST_CASE("... clipped, split by columns and rows") { orders<Deep, Clipped, ModelParallel<SplitColsRows, Ways<2>>>(); }
TEST_CASE("... with a loss scale") { orders<Deep, Precision<f16>, LossScale<1 << 20, 2>, Momentum>(); }
TEST_CASE("... in order of the ranks, where each product is split by columns and rows") {
  orders<Deep, ModelParallel<SplitColsRows, Ways<2>>, Momentum>();
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
