// train/unequal_parts.cpp - layers split over ways that do not divide them: the result of one rank, on threads and on a device.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cleave/train/check_layer.hpp>

#include "on_device.hpp"
#include "values.hpp"

using namespace cleave;
using namespace cleave::testing;

namespace {

template <class Net, class... Policies>
struct OnOneRank
    : Plan<Net, Batch<18>, MicroBatches<9>, Precision<f64>, InputGradient, DataParallel<Sync>, Policies...> {
  static constexpr Rate rate = Rate::constant(1);
};
template <class Net, int ways, class Split> struct OnWays : OnOneRank<Net, ModelParallel<Split, Ways<ways>>> {};
struct WeirdTrick {};
template <class Net, int ways> struct OnWays<Net, ways, WeirdTrick> : OnOneRank<Net, OneWeirdTrick<ways>> {};

struct Dense : Sequential<Vector<7>, Linear<13>, Tanh, Linear<11>, Dropout<25>, Linear<5>, MeanSquaredError> {};
/// Of zeros a Sigmoid makes halves: it takes its input whole.
struct Halves : Sequential<Vector<7>, Linear<13>, Sigmoid, Linear<5>, MeanSquaredError> {};
struct Pictures : Sequential<Image<3, 6, 6>, Conv<7, 3, Pad<1>>, BatchNorm, Relu, Residual<Conv<7, 3, Pad<1>>, Gelu>,
                             MaxPool<2>, Dropout<25>, Conv<5, 3, Pad<1>>, Relu, Linear<7>, CrossEntropy> {};
struct Words
    : Sequential<Sequence<4, 10>, Attention<5, Causal, Rotary>, LayerNorm, Residual<PerPosition<SwiGlu<7>, Linear<10>>>,
                 Attention<5, KeyValueHeads<5>>, MeanOverPositions, Linear<5>, CrossEntropy> {};

struct Trick : Sequential<Image<3, 6, 6>, Conv<7, 3, Pad<1>>, BatchNorm, Relu, MaxPool<2>, Conv<5, 3>, Tanh, Linear<9>,
                          Relu, Linear<5>, CrossEntropy> {};
/// Operations of one's own: their letters say all, also what of an image stays together.
struct OwnProduct : op::Product<6> {
  static constexpr op::Weight weight(int, Shape x) {
    return {Shape(static_cast<int>(x.size()), 6), op::Start::He, static_cast<int>(x.size()), 6};
  }
};
struct Twice : op::Base {
  static constexpr auto name = "twice";
  static constexpr auto equation = "bf->bf";
  static constexpr bool linear = true;
  static constexpr Shape output(Shape x) { return Shape(2 * x[0]); }
  template <op::Local L, class Ctx, class T> CLEAVE_HD static void forward(Ctx ctx, op::Operands<T> const& t) {
    ctx.each(L.rows * L.y.size(), [&](long e) { t.y[e] = t.x[e / 2]; });
  }
  template <op::Local L, class Ctx, class T> CLEAVE_HD static void backward_input(Ctx ctx, op::Operands<T> const& t) {
    ctx.each(L.rows * L.x.size(), [&](long e) { t.dx[e] = t.dy[2 * e] + t.dy[2 * e + 1]; });
  }
};
struct Own : Sequential<Image<5, 4, 4>, Conv<7, 3>, layer::Chain<OwnProduct>, Linear<13>, layer::Chain<Twice>,
                        Linear<5>, MeanSquaredError> {};
struct Depthwise : Sequential<Image<5, 6, 6>, Conv<5, 3, Groups<5>>, Relu, Linear<5>, CrossEntropy> {};
/// Two channels in, three out, and three in, one out, of each group; then sums of channels that stay together.
template <int groups>
struct Grouped : Sequential<Image<2 * groups, 6, 6>, Conv<3 * groups, 3, Pad<1>, Groups<groups>>, BatchNorm, Relu,
                            Residual<Conv<3 * groups, 1, Groups<groups>>>, MaxPool<2>, Dropout<25>,
                            Conv<groups, 2, Groups<groups>>, Tanh, Linear<5>, CrossEntropy> {};
/// Other groups, a layer of all channels, and one whose filters are several of each channel.
struct Regrouped : Sequential<Image<4, 6, 6>, Conv<8, 3, Groups<4>>, Relu, Conv<10, 1>, Relu, Conv<15, 1, Groups<5>>,
                              Conv<15, 1>, Relu, Conv<30, 2, Groups<15>>, Relu, Linear<5>, CrossEntropy> {};
/// Rows of what comes in groups: they stay together too.
struct RowsOfGroups
    : Sequential<Image<8, 6, 6>, Conv<12, 3, Groups<4>>, Relu, Conv<6, 1>, Relu, Conv<10, 2>, Linear<5>, CrossEntropy> {
};
struct Factored
    : Sequential<Vector<8>, Linear<13, SendFactors>, Tanh, Linear<8, SendFactors>, Linear<5>, CrossEntropy> {};

/// A product whose weights are 15,258 MiB, over ranks that do not divide it: a rank has a column or row more than
/// another at most.
template <int ways, class Split> constexpr long largest_share() {
  struct Large : Sequential<Vector<100'000>, Linear<40'000, NoBias>, MeanSquaredError> {};
  struct Train : Plan<Large, Batch<1>, ModelParallel<Split, Ways<ways>>> {};
  return memory<Train, 1>[schedule::Category::Weights];
}
static_assert(largest_share<1, SplitCols>() == 16'000'000'000 && 16'000'000'000 / 1_MiB == 15'258);
static_assert(largest_share<7, SplitCols>() == 4L * 100'000 * 5'715);  // 7 x 5,715 = 40,005
/// Groups stay whole: between layers of as many nothing is exchanged.
struct InGroups : Plan<Grouped<4>, Batch<18>, MicroBatches<9>, ModelParallel<SplitCols, Ways<3>>> {};
struct InGroupsOfTwo : Plan<Grouped<4>, Batch<18>, MicroBatches<9>, ModelParallel<SplitCols, Ways<2>>> {};
template <class P> constexpr int gathers() {
  int n = 0;
  for (int k = 0; k < P::placed.count; ++k) n += P::placed.node[k].conversion.forward == op::Verb::AllGather;
  return n;
}
static_assert(gathers<InGroups>() == 2 && gathers<InGroupsOfTwo>() == 2);  // before the dense layer, and behind it
static_assert(largest_share<7, SplitRows>() == 4L * 40'000 * 14'286);      // 7 x 14,286 = 100,002

/// One step against that of one rank.
template <class Net, class Split> void agrees() {
  auto const on = [&]<int ways>(std::integral_constant<int, ways>) {
    using P = OnWays<Net, ways, Split>;
    static_assert(OnOneRank<Net>::ways == 1);
    for (int replicas : {1, 2}) {
      INFO(schedule::listing<P>(P::ranks_of(replicas)));
      CHECK(session::same<OnOneRank<Net>, P>("cut", replicas, 1e-9).text == "");
    }
  };
  on(std::integral_constant<int, 2>{});
  on(std::integral_constant<int, 3>{});
  on(std::integral_constant<int, 4>{});
}

}  // namespace

TEST_CASE("columns, rows, and rows of columns") {
  agrees<Dense, SplitCols>();
  agrees<Dense, SplitRows>();
  agrees<Dense, SplitColsRows>();
}
TEST_CASE("a function that makes more than zeros of zeros takes its input whole") { agrees<Halves, SplitColsRows>(); }
TEST_CASE("the channels of convolutions, statistics of the batch, dropout") {
  agrees<Pictures, SplitCols>();
  agrees<Pictures, SplitColsRows>();
}
TEST_CASE("the heads of attention, and the features between layers of each position") {
  agrees<Words, SplitColsRows>();
}
TEST_CASE("micro-batches, of whole layers and of convolutions before split ones") {
  agrees<Dense, SplitBatch>();
  agrees<Trick, WeirdTrick>();
}
TEST_CASE("operations of one's own, groups of channels, factors") {
  agrees<Own, SplitColsRows>();
  agrees<Depthwise, SplitCols>();
  agrees<Grouped<4>, SplitCols>();
  agrees<Grouped<5>, SplitCols>();
  agrees<Regrouped, SplitCols>();
  agrees<RowsOfGroups, SplitColsRows>();
  using Both = ModelParallel<SplitAlong<SplitCols, SplitCols>, Ways<2, 2>>;  // the groups of 6 and 7 along two axes
  CHECK(session::same<OnOneRank<Grouped<6>>, OnOneRank<Grouped<6>, Both>>("cut", 1, 1e-9).text == "");
  CHECK(session::same<OnOneRank<Grouped<7>>, OnOneRank<Grouped<7>, Both>>("cut", 1, 1e-9).text == "");
  agrees<Factored, SplitColsRows>();
  agrees<Factored, SplitRows>();
}
TEST_CASE("what ways hold alike stays alike in compressed gradients") {
  struct P : Of<Dense, DataParallel<Sync>, ModelParallel<SplitRows, Ways<3>>, Fastest, Compress<Int8>> {};
  Trainer<P> t(2, 3);
  t.train(0, 40, feed<P>());
  for (session::Kept const& k : session::kept<P>()) {
    if (k.sharding.on[1].kind == place::Kind::Shard) continue;
    std::vector<float> first(static_cast<std::size_t>(k.shape.size())), other = first;
    t.read(0, k.region, k.offset, k.shape.size(), first.data());
    for (int way : {1, 2}) {
      t.read(way, k.region, k.offset, k.shape.size(), other.data());
      CHECK(other == first);
    }
  }
}
TEST_CASE("each way has the memory of the largest part, and zeros behind a smaller one") {
  using P = OnWays<Dense, 4, SplitCols>;
  static_assert(P::schedule.weight[0].count == 7 * 4);
  Trainer<P> t(1, 3);
  for (int way = 0; way < 4; ++way) {
    std::vector<double> w(28);
    t.read(way, backend::host::Region::Weights, 0, 28, w.data());
    for (int row = 0; row < 7; ++row) CHECK((w[static_cast<std::size_t>(4 * row + 3)] == 0) == (way < 3));
  }
}
TEST_CASE("on a device, in f32, bf16 and stages of ZeRO") {
  as_on_threads<Of<Dense, DataParallel<Sync>, ModelParallel<SplitColsRows, Ways<3>>>>(1e-5, {1, 2});
  as_on_threads<Of<Pictures, DataParallel<Sync>, ModelParallel<SplitColsRows, Ways<2>>>>(1e-4, {1});
  as_on_threads<Of<Grouped<4>, DataParallel<Sync, Zero<2>>, ModelParallel<SplitCols, Ways<3>>>>(1e-4, {2});
  as_on_threads<Of<Words, DataParallel<Sync>, ModelParallel<SplitColsRows, Ways<3>>, Precision<bf16>>>(0.05, {1});
  as_on_threads<Of<Trick, DataParallel<Sync>, OneWeirdTrick<3>>>(1e-4, {1});
  as_on_threads<Of<Dense, DataParallel<Sync, Zero<3>>, ModelParallel<SplitCols, Ways<3>>, Adam>>(1e-4, {1, 2});
}
