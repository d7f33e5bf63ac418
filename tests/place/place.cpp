// place/place.cpp - what each way to split a layer does to x, W and y, and where conversions appear.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave.hpp>

using namespace cleave;
using namespace cleave::place;
using op::Verb;

namespace {

struct Net : Sequential<Vector<64>, Linear<128>, Relu, Linear<32>, Relu, Linear<8>, CrossEntropy> {};
template <class... Policies> struct P : Plan<Net, Batch<16>, InputGradient, Policies...> {};

/// The forward conversions of a plan, in order.
template <class Plan> constexpr auto conversions() {
  struct {
    Verb verb[8]{};
    int count = 0;
  } out;
  for (int k = 0; k < Plan::placed.count; ++k) {
    if (Plan::placed.node[k].op < 0) out.verb[out.count++] = Plan::placed.node[k].conversion.forward;
  }
  return out;
}

// One rank: nothing is converted.
static_assert(conversions<P<>>().count == 0 && conversions<P<DataParallel<Sync>>>().count == 0);

// Columns then rows: x is copied for nothing, the halves meet, one sum; the last product opens a new pair.
constexpr auto turns = conversions<P<ModelParallel<SplitColsRows>>>();
static_assert(turns.count == 4 && turns.verb[0] == Verb::None && turns.verb[1] == Verb::AllReduce &&
              turns.verb[2] == Verb::None && turns.verb[3] == Verb::AllGather);

// Columns everywhere: each product wants the whole of x.
constexpr auto cols = conversions<P<ModelParallel<SplitCols>>>();
static_assert(cols.count == 4 && cols.verb[1] == Verb::AllGather && cols.verb[2] == Verb::AllGather &&
              cols.verb[3] == Verb::AllGather);

// Rows everywhere: a sum after each, before the bias; relu never sees a partial sum. What the next product cuts is
// scattered; the last sum is whole.
using Rows = P<ModelParallel<SplitRows>>;
constexpr auto rows = conversions<Rows>();
static_assert(rows.count == 4 && rows.verb[0] == Verb::Slice && rows.verb[1] == Verb::ReduceScatter &&
              rows.verb[2] == Verb::ReduceScatter && rows.verb[3] == Verb::AllReduce);
static_assert(Rows::placed.node[2].conversion.backward == Verb::AllGather);
// Also through pooling and to the channels of an image; not where a value is read twice, or features stay together.
template <class... Between>
struct RowsApart : Sequential<Image<4, 8, 8>, Conv<8, 3>, Between..., Conv<4, 3, NoBias>, CrossEntropy> {};
template <class... Between>
constexpr auto scattered = conversions<Plan<RowsApart<Between...>, Batch<8>, ModelParallel<SplitRows>>>();
static_assert(scattered<Relu, MaxPool<2>>.count == 3 && scattered<Relu, MaxPool<2>>.verb[1] == Verb::ReduceScatter);
static_assert(scattered<BatchNorm, Relu>.verb[1] == Verb::AllReduce);
static_assert(scattered<LayerNorm, Relu>.verb[1] == Verb::AllReduce);
static_assert(scattered<Residual<Conv<8, 3, Pad<1>, ModelParallel<Whole>>>>.verb[1] == Verb::AllReduce);

// Positions: attention has heads in their place, between two all-to-alls; the loss reads all positions.
struct Heads : Sequential<Sequence<4, 8>, PerPosition<LayerNorm>, Attention<4>, PerPosition<Linear<8>, CrossEntropy>> {
};
template <class... Policies> constexpr auto of_heads = conversions<Plan<Heads, Batch<8>, Policies...>>();
constexpr auto positions = of_heads<ModelParallel<SplitPositions, Ways<4>>>;
static_assert(positions.count == 4 && positions.verb[0] == Verb::Slice && positions.verb[1] == Verb::AllToAll &&
              positions.verb[2] == Verb::AllToAll && positions.verb[3] == Verb::AllGather);
// Beside columns and rows: along that axis as without positions.
constexpr auto array = of_heads<ModelParallel<SplitAlong<SplitColsRows, SplitPositions>, Ways<2, 2>>>;
static_assert(array.count == 8 && array.verb[1] == Verb::None && array.verb[2] == Verb::AllToAll &&
              array.verb[3] == Verb::AllToAll && array.verb[4] == Verb::AllReduce);
// From one dimension to another by an all-to-all: not where parts are unequal, neither is the first, or two axes
// change.
constexpr Shape sample(4, 3, 8, 2);
constexpr Sharding at(Placement first, Placement second = invariant) { return {{shard(batch), first, second}}; }
static_assert(algebra::exchanges_parts(at(shard(1)), at(shard(3)), sample, {0, 4}));
static_assert(algebra::exchanges_parts(at(shard(3), shard(1)), at(shard(3), shard(3)), sample, {0, 2, 4}));
static_assert(!algebra::exchanges_parts(at(shard(1)), at(shard(2)), sample, {0, 2}));
static_assert(!algebra::exchanges_parts(at(shard(3)), at(shard(4)), sample, {0, 2}));
static_assert(!algebra::exchanges_parts(at(shard(1), shard(3)), at(shard(3), shard(1)), sample, {0, 2, 2}));
static_assert(!algebra::exchanges_parts(at(shard(3), shard(1)), at(shard(3), shard(3)), sample, {0, 4, 4}));

// Batch, then columns: gathered forward, reduce-scattered back.
struct Weird
    : Sequential<Image<3, 8, 8>, Conv<4, 3>, Relu, Linear<16>, Relu, Linear<8, ModelParallel<Whole>>, CrossEntropy> {};
struct WeirdPlan : Plan<Weird, Batch<16>, OneWeirdTrick<2>> {};
constexpr auto weird = conversions<WeirdPlan>();
static_assert(WeirdPlan::placed.input.on[1] == shard(batch));
static_assert(weird.count == 2 && weird.verb[0] == Verb::AllGather && weird.verb[1] == Verb::AllGather);
static_assert(WeirdPlan::placed.node[3].conversion.backward == Verb::ReduceScatter);

// Towers: groups split on both sides exchange nothing.
struct Towers : Sequential<Image<4, 6, 6>, Conv<8, 3, Groups<2>, ModelParallel<SplitGroups>>, Relu, MaxPool<2>,
                           Conv<8, 2, Groups<2>, ModelParallel<SplitGroups>>, Relu, Linear<4, ModelParallel<SplitRows>>,
                           CrossEntropy> {};
struct TowersPlan : Plan<Towers, Batch<8>> {};
constexpr auto towers = conversions<TowersPlan>();
static_assert(towers.count == 2 && towers.verb[0] == Verb::Slice &&
              towers.verb[1] == Verb::AllReduce);  // the input; the dense sum

// A residual meets where it is cheaper: whole x with columns of f(x) slices x, it does not gather f(x).
struct Res : Sequential<Vector<16>, Residual<Linear<16>>, CrossEntropy> {};
struct ResPlan : Plan<Res, Batch<8>, ModelParallel<SplitCols>> {};
static_assert(conversions<ResPlan>().verb[1] == Verb::Slice || conversions<ResPlan>().verb[0] == Verb::Slice);

// The same value wanted twice alike is converted once.
struct Twice : Sequential<Vector<16>, Linear<16, ModelParallel<SplitCols>>,
                          Branches<Plus, Path<Linear<8, ModelParallel<Whole>>>, Path<Linear<8, ModelParallel<Whole>>>>,
                          CrossEntropy> {};
struct TwicePlan : Plan<Twice, Batch<8>, Mesh<Data<1>, Model<2>>> {};
static_assert(conversions<TwicePlan>().count == 1 && conversions<TwicePlan>().verb[0] == Verb::AllGather);

// The input is drawn in slices only where nobody reads it whole before the layer that wants it so.
struct Normed : Sequential<Vector<16>, LayerNorm, Linear<8>, CrossEntropy> {};
struct NormedPlan : Plan<Normed, Batch<8>, MicroBatches<4>, ModelParallel<SplitBatch>> {};
static_assert(NormedPlan::placed.node[0].x == NormedPlan::placed.input);
static_assert(conversions<NormedPlan>().count == 1 && conversions<NormedPlan>().verb[0] == Verb::Slice);

// The number of replicas is known when a run starts, and none has another's samples: an operation that wants them all,
// or their sum, is refused. On an axis of known size it is a conversion like others.
struct All : op::Base {
  static constexpr auto name = "all", equation = "B*->B*";
  static constexpr Shape output(Shape x) { return x; }
};
struct Total : op::Base {
  static constexpr auto name = "total", equation = "b*->*";
  static constexpr Shape output(Shape x) { return x; }
};
template <class Op> constexpr Law law_on(DeviceMesh const& mesh) {
  using Model = Sequential<Vector<8>, layer::Chain<Op>, Relu, CrossEntropy>;
  constexpr auto model = signatures<Model>(layer::ops_of<Model>{});
  Request const request{{0, 1}, 1, 4};
  return place::place(model, propagate_shardings(model, mesh, {}, request), mesh, request).verdict.law;
}
static_assert(law_on<All>({1, 0}) == Law::AcrossReplicas && law_on<Total>({1, 0}) == Law::AcrossReplicas);
static_assert(law_on<All>({1, 2}) == Law::None && law_on<Total>({1, 2}) == Law::None);

}  // namespace

TEST_CASE("local extents follow the cut") {
  using Turns = P<ModelParallel<SplitColsRows, Ways<4>>>;
  for (int k = 0; k < Turns::placed.count; ++k) {
    auto const& n = Turns::placed.node[k];
    if (n.op < 0) continue;
    auto const& s = Turns::signatures.op[n.op];
    CHECK(n.local.y.size() * (n.y.on[1].kind == Kind::Shard ? 4 : 1) == s.y.size());
    if (s.weights > 0) CHECK(n.local.w0.size() * (n.w.on[1].kind == Kind::Shard ? 4 : 1) == s.w[0].shape.size());
  }
}
