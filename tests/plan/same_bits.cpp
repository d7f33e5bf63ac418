// plan/same_bits.cpp - what the compiler says of two plans' bits is what training gives.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave.hpp>

#include "../train/signs.hpp"
#include "../train/values.hpp"

using namespace cleave;
using plan::BitsDifference;

namespace {

struct Net : Sequential<Vector<20>, Linear<24>, LayerNorm, Relu, Linear<16>, Tanh, Residual<Linear<16>, Relu>,
                        Linear<4>, CrossEntropy> {};
struct Alike : Sequential<Vector<8>, Linear<8>, Residual<Linear<8>>, Linear<8>, CrossEntropy> {};
struct Connected : Sequential<Vector<8>, Residual<Linear<8>, Linear<8>>, Linear<8>, CrossEntropy> {};
struct Dense : layer::Chain<op::Product<8, op::Start::He>, op::Bias, op::Map<layer::ReluFunction>> {};
struct OneLayer : Sequential<Vector<8>, Dense, Linear<4>, CrossEntropy> {};
struct TwoLayers : Sequential<Vector<8>, Linear<8>, Relu, Linear<4>, CrossEntropy> {};
struct Other : Sequential<Vector<20>, Linear<24>, Relu, Linear<4>, CrossEntropy> {};
template <class N, class... Ps> struct Of : Plan<N, Batch<24>, Ps...> {
  static constexpr Rate rate = Rate::constant(0.05f);
};
template <class... Ps> using With = Of<Net, MicroBatches<12>, Momentum, Ps...>;
struct Slower : With<DataParallel<Sync>> {
  static constexpr Rate rate = Rate::constant(0.04f);
};
using One = With<DataParallel<Sync>>;
template <class... Ps> constexpr BitsDifference by = plan::bits_differ_by<One, With<Ps...>>();

template <class P> std::vector<double> trained(int replicas) {
  using Trained = std::conditional_t<P::served, Served<P>, Trainer<P>>;
  Trained t(replicas, 7);
  t.train(0, 5, signs::feed<P>());
  return values(t);
}

// Both ways round, and of a plan with itself.
static_assert(same_bits<One, One> && same_bits<One, With<Accumulate<3>>> && same_bits<With<Accumulate<3>>, One>);
// A norm over gradients whose weights no way has in parts is rounded once.
struct Clip : Momentum {
  static constexpr float clip_norm = 0.05f;
};
static_assert(same_bits<Of<Net, MicroBatches<12>, Clip>, Of<Net, MicroBatches<12>, Clip, ModelParallel<SplitBatch>>>);
static_assert(plan::bits_differ_by<Slower, One>() == BitsDifference::Rate);
static_assert(plan::bits_differ_by<One, Of<Other, MicroBatches<12>, Momentum>>() == BitsDifference::Model);
// Both products read a value that columns make whole: in one part once, in two parts twice.
struct Fork : Sequential<Vector<8>, Linear<4>, Branches<Plus, Path<Linear<4>>, Path<Linear<4>>>, CrossEntropy> {};
template <class... Ps> using InColumns = Of<Fork, MicroBatches<12>, ModelParallel<SplitCols, Ways<2>>, Ps...>;
template <int First> using From = ModelParallel<SplitLayers<2, GPipe, FirstLayers<First>>>;
static_assert(plan::bits_differ_by<InColumns<>, InColumns<From<2>>>() == BitsDifference::Stages);
static_assert(same_bits<InColumns<>, InColumns<From<1>>> && same_bits<InColumns<From<2>>, InColumns<From<2>>>);
// Two products read a value whole that a map reads in parts of the batch: the gradients of the two are added first.
struct Wide : Sequential<Vector<16>, Linear<16>, Branches<Plus, Path<Linear<16>>, Path<Tanh>, Path<Linear<16>>>,
                         Linear<4>, CrossEntropy> {};
struct InParts : Sequential<Vector<16>, Linear<16, ModelParallel<SplitBatch>>,
                            Branches<Plus, Path<Linear<16>>, Path<Tanh>, Path<Linear<16>>>, Linear<4>, CrossEntropy> {};
static_assert(
    plan::bits_differ_by<Of<Wide, MicroBatches<12>>, Of<InParts, MicroBatches<12>, ModelParallel<Whole, Ways<2>>>>() ==
    BitsDifference::Readers);
static_assert(std::is_same_v<layer::ops_of<Alike>, layer::ops_of<Connected>>);
static_assert(plan::bits_differ_by<Of<Alike>, Of<Connected>>() == BitsDifference::Model);
// The same operations, of layers with other numbers: Freeze and ParameterGroup read these.
static_assert(std::is_same_v<layer::ops_of<OneLayer>, layer::ops_of<TwoLayers>>);
static_assert(plan::bits_differ_by<Of<OneLayer>, Of<TwoLayers>>() == BitsDifference::Model);
static_assert(plan::bits_differ_by<One, Of<Net, MicroBatches<8>, Momentum>>() == BitsDifference::MicroBatches);
static_assert(plan::bits_differ_by<One, Plan<Net, Batch<48>, MicroBatches<12>, Momentum>>() == BitsDifference::Batch);
static_assert(plan::bits_differ_by<One, Of<Net, MicroBatches<12>, Adam>>() == BitsDifference::Optimizer);
static_assert(by<LossScale<8, 100>> == BitsDifference::Optimizer && by<Inference> == BitsDifference::Legality);
static_assert(by<Precision<bf16>> == BitsDifference::Number && by<Freeze<1>> == BitsDifference::Frozen);
static_assert(by<DataParallel<Async>> == BitsDifference::Server);

// Over two axes.
static_assert(plan::bits_differ_by<With<ModelParallel<SplitAlong<SplitCols, SplitRows>, Ways<2, 2>>>,
                                   With<ModelParallel<SplitRows, Ways<4>>>>() == BitsDifference::Split);
static_assert(plan::bits_differ_by<With<ModelParallel<SplitAlong<SplitCols, SplitRows>, Ways<2, 3>>>,
                                   With<ModelParallel<SplitAlong<SplitCols, SplitRows>, Ways<3, 2>>>>() ==
              BitsDifference::Split);
static_assert(
    plan::bits_differ_by<With<ModelParallel<SplitRows, Ways<2, 3>>>, With<ModelParallel<SplitRows, Ways<6>>>>() ==
    BitsDifference::Split);
static_assert(same_bits<With<ModelParallel<SplitRows, Ways<4>>>, With<ModelParallel<SplitRows, Ways<1, 4>>>>);

}  // namespace

TEST_CASE("plans of which the compiler says that they have the same bits have them") {
  auto const wanted = trained<One>(1);
  auto const same = [&]<class P>(meta::type<P>, int replicas) {
    static_assert(same_bits<One, P>);
    CHECK(trained<P>(replicas) == wanted);
  };
  same(meta::type<With<>>{}, 1);
  same(meta::type<With<DataParallel<Sync>, Accumulate<3>, Buckets<2048>>>{}, 2);
  same(meta::type<With<DataParallel<Sync, Zero<3>>>>{}, 4);
  same(meta::type<With<DataParallel<Sync>, ModelParallel<SplitBatch>>>{}, 2);
  same(meta::type<With<DataParallel<Sync>, ModelParallel<SplitLayers<3>>, Accumulate<6>>>{}, 2);
}
TEST_CASE("plans of which it says that they differ do") {
  auto const wanted = trained<One>(1);
  auto const other = [&]<class P>(meta::type<P>, BitsDifference why, int replicas) {
    CHECK(plan::bits_differ_by<One, P>() == why);
    CHECK(trained<P>(replicas) != wanted);
  };
  other(meta::type<With<DataParallel<Sync>, Fastest>>{}, BitsDifference::Sums, 3);
  other(meta::type<With<ModelParallel<SplitCols>>>{}, BitsDifference::Split, 1);
  other(meta::type<With<ModelParallel<SplitRows, Ways<4>>>>{}, BitsDifference::Split, 1);
  other(meta::type<Slower>{}, BitsDifference::Rate, 1);
}
TEST_CASE("a narrow format rounds where a pipeline cuts what is computed at once") {
  using Narrow = With<Precision<bf16>>;
  using AtProducts = With<Precision<bf16>, ModelParallel<SplitLayers<3>>, Accumulate<4>>;
  using Between = With<Precision<bf16>, ModelParallel<SplitLayers<2, GPipe, FirstLayers<4>>>, Accumulate<4>>;
  static_assert(same_bits<Narrow, AtProducts>);
  CHECK(trained<AtProducts>(1) == trained<Narrow>(1));
  using BeforeSum = With<Precision<bf16>, ModelParallel<SplitLayers<2, GPipe, FirstLayers<7>>>, Accumulate<4>>;
  static_assert(same_bits<Narrow, BeforeSum>);
  CHECK(trained<BeforeSum>(1) == trained<Narrow>(1));
  CHECK(plan::bits_differ_by<Narrow, Between>() == BitsDifference::Rounding);
  CHECK(trained<Between>(1) != trained<Narrow>(1));
}
TEST_CASE("blocks of two axes have the bits of the same blocks on other replicas") {
  using Blocks = With<DataParallel<Sync>, ModelParallel<SplitAlong<SplitColsRows, SplitRowsCols>, Ways<2, 2>>>;
  using InParts =
      With<DataParallel<Sync, Zero<2>>, ModelParallel<SplitAlong<SplitColsRows, SplitRowsCols>, Ways<2, 2>>>;
  static_assert(same_bits<Blocks, InParts>);
  CHECK(trained<InParts>(3) == trained<Blocks>(1));
}
TEST_CASE("columns on the same ways have the same bits, whatever else differs") {
  using Split = With<DataParallel<Sync>, ModelParallel<SplitCols>>;
  using Staged =
      With<DataParallel<Sync, Zero<1>>, ModelParallel<SplitCols>, ModelParallel<SplitLayers<2>>, Accumulate<2>>;
  static_assert(same_bits<Split, Staged>);
  CHECK(trained<Staged>(3) == trained<Split>(1));
}
