// train/many_axes.cpp - data parallelism and two axes of model parallelism: 2 x 2 x 2 ranks compute what one does.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "many_axes.hpp"

#include <doctest/doctest.h>

#include <cleave.hpp>
#include <cleave/schedule/exchange_goal.hpp>
#include <cleave/schedule/exchange_traffic.hpp>
#include <cleave/train/check_layer.hpp>
#include <cleave/train/emulated.hpp>

using namespace cleave;

namespace {

template <class Net, class... Policies>
struct OnOneRank
    : Plan<Net, Batch<32>, MicroBatches<16>, Precision<f64>, InputGradient, DataParallel<Sync>, Policies...> {
  static constexpr Rate rate = Rate::constant(1);
};
template <class Net, class Cuts, class... Policies>
struct OnCube : CutPlan<OnOneRank<Net, ModelParallel<SplitCols, Ways<4>>, Policies...>, Cuts> {};

#define CUTS(name, ...)                                     \
  struct name {                                             \
    static constexpr place::DeviceMesh mesh{0, 2, 2};       \
    static constexpr char const* letters[] = {__VA_ARGS__}; \
  }

/// Over 2 x 2 ranks nothing divides: ranks have 3 or 4 of 13, 1 or 2 of 5 and of 7.
struct Odd : Sequential<Vector<7>, Linear<13>, Relu, Linear<5, NoBias>, Tanh, Linear<7>, MeanSquaredError> {};
struct Dense : Sequential<Vector<8>, Linear<16>, Relu, Linear<8, NoBias>, Tanh, Linear<4>, MeanSquaredError> {};

/// Exchanges that are not sound, or whose traffic is not what the closed forms say.
template <class P> std::string unsound(int replicas) {
  schedule::Program const& program = schedule::program<P>;
  schedule::Ranks const ranks = P::ranks_of(replicas);
  schedule::Share const share = P::share(ranks);
  std::string out;
  for (int s = 0; s < program.steps; ++s) {
    if (schedule::ExchangeFault const f = schedule::check_exchange(program, s, share))
      out += "step " + std::to_string(s) + ": rank " + std::to_string(f.rank) + " " + std::string(f.what) + "\n";
    for (int rank = 0; rank < ranks.world(); ++rank) {
      schedule::TrafficCount const count = schedule::sent(program, s, share, rank);
      schedule::Message const m = schedule::message(program.step[s], program, P::request, ranks, rank);
      if (count.elements != m.sent || count.sent_bytes != m.bytes)
        out += "step " + std::to_string(s) + ": rank " + std::to_string(rank) + " sends " +
               std::to_string(count.elements) + " elements in its exchange, not " + std::to_string(m.sent) + "\n";
    }
  }
  return out;
}

/// On 4 and on 8 ranks, one step against that of one rank.
template <class Net, class Cuts, class... Policies> void agrees(std::initializer_list<int> all = {1, 2}) {
  using P = OnCube<Net, Cuts, Policies...>;
  static_assert(P::is_placed);
  for (int replicas : all) {
    CAPTURE(schedule::listing<P>(P::ranks_of(replicas)));
    CHECK(unsound<P>(replicas) == "");
    CheckReport const r = session::same<OnOneRank<Net, Policies...>, P>("cut", replicas, 1e-9);
    CHECK(r.text == "");
  }
}

CUTS(ColumnsAndRows, "oi", "io", "oi");
CUTS(EachOverAnother, "o.", ".o", "i.");
CUTS(RowsAfterColumns, "o.", "io", ".i");
CUTS(PartsOfParts, "oo", "ii", "oo");
CUTS(SamplesThenColumns, "bo", "bi", ".o");
CUTS(ColumnsThenSamples, "ob", "ib", "b.");
CUTS(Samples, "bb", "b.", "bb");

struct Pictures
    : Sequential<Image<4, 6, 6>, Conv<8, 3, Pad<1>>, BatchNorm, Relu, Residual<Conv<8, 3, Pad<1>>, GroupNorm<2>>,
                 MaxPool<2>, Linear<16>, LayerNorm, Dropout<25>, Linear<4>, CrossEntropy> {};
CUTS(WeirdTrick, "b.", ".b", "oi", "io");
CUTS(Channels, "bo", "b.", "bo", "bi");
CUTS(ChannelsOut, "ob", ".b", "ob", "ib");
CUTS(AllSamples, "bb", "bb", "bo", "ob");

struct Clipped : Momentum {
  static constexpr float clip_norm = 0.5f;
};

/// Cuts at random, each letter of each product and axis one of none, batch, columns, rows.
template <int Seed> struct Random {
  static constexpr place::DeviceMesh mesh = Seed % 3 == 0 ? place::DeviceMesh{0, 2, 2, 2} : place::DeviceMesh{0, 2, 4};
  struct Of {
    char at[4]{};
    constexpr char operator[](int axis) const { return at[axis]; }
  };
  struct All {
    Of of[3];
    constexpr Of operator[](int product) const { return of[product]; }
  };
  static constexpr All letters = [] {
    All out;
    unsigned state = Seed * 7919u + 17;
    for (Of& product : out.of) {
      for (char& c : product.at) c = ".boi"[(state = state * 1664525u + 1013904223u) >> 16 & 3];
    }
    return out;
  }();
};
struct Wide : Sequential<Vector<17>, Linear<16>, Relu, Linear<13, NoBias>, Tanh, Linear<9>, MeanSquaredError> {};
template <int Seed>
struct Drawn : CutPlan<Plan<Wide, Batch<32>, MicroBatches<16>, DataParallel<Sync>, ModelParallel<SplitCols, Ways<8>>>,
                       Random<Seed>> {};
/// How many of these can be placed; the exchanges of each on 1 and 2 replicas.
template <int... Seeds> int sound(std::integer_sequence<int, Seeds...>) {
  int placed = 0;
  auto const check = [&]<class P>(P*) {
    if constexpr (P::is_placed) {
      ++placed;
      for (int replicas : {1, 2}) {
        CAPTURE(schedule::listing<P>(P::ranks_of(replicas)));
        CHECK(unsound<P>(replicas) == "");
      }
    }
  };
  (check(static_cast<Drawn<Seeds>*>(nullptr)), ...);
  return placed;
}

/// On an emulated device, on 8 ranks, against threads.
template <class Net, class Cuts> void agrees_on_device() {
  using P = OnCube<Net, Cuts>;
  session::Probing<P> const probe;
  Trainer<P> threads(2, 5);
  DeviceTrainer<P, backend::emulate::Machine> device(2, 5, std::make_unique<backend::emulate::Machine>(3u));
  CHECK(device.train(0, 2, probe.feed())[1] == doctest::Approx(threads.train(0, 2, probe.feed())[1]).epsilon(1e-9));
  CHECK(session::miscounted(device, 2) == "");
  for (session::Kept const& k : session::kept<P>()) {
    auto const got = session::whole(device, k), wanted = session::whole(threads, k);
    for (std::size_t i = 0; i < got.size(); ++i) CHECK(got[i] == doctest::Approx(wanted[i]).epsilon(1e-7));
  }
}

}  // namespace

TEST_CASE("products cut by columns over one axis and by rows over another") {
  agrees<Dense, ColumnsAndRows>();
  agrees<Dense, RowsAfterColumns>();
}
/// The same by words.
struct DenseByWords : Sequential<Vector<8>, Linear<16, ModelParallel<SplitAlong<SplitCols, Whole>>>, Relu,
                                 Linear<8, NoBias, ModelParallel<SplitAlong<SplitRows, SplitCols>>>, Tanh,
                                 Linear<4, ModelParallel<SplitAlong<Whole, SplitRows>>>, MeanSquaredError> {};
TEST_CASE("a plan's words and those of its layers cut the letters that they name") {
  auto const text = []<class P>(P*) { return schedule::listing<P>(P::ranks_of(2)); };
  using Blocks = OnOneRank<Dense, ModelParallel<SplitAlong<SplitColsRows, SplitRowsCols>, Ways<2, 2>>>;
  CHECK(text(static_cast<Blocks*>(nullptr)) == text(static_cast<OnCube<Dense, ColumnsAndRows>*>(nullptr)));
  using ByLayer = OnOneRank<DenseByWords, Mesh<Data<2>, Model<2, 2>>>;
  CHECK(text(static_cast<ByLayer*>(nullptr)) == text(static_cast<OnCube<Dense, RowsAfterColumns>*>(nullptr)));
  using All = OnOneRank<Dense, ModelParallel<SplitCols, Ways<2, 2>>>;
  CHECK(text(static_cast<All*>(nullptr)).find("(b, 4)") != std::string::npos);  // 16 columns in four parts
  CheckReport const r = session::same<OnOneRank<Dense>, Blocks>("blocks", 2, 1e-9);
  CHECK(r.text == "");
}
TEST_CASE("columns over one axis that come out of rows over another are gathered before they are cut again") {
  using Both = OnOneRank<Odd, ModelParallel<SplitAlong<SplitCols, SplitRows>, Ways<2, 2>>>;
  CheckReport const r = session::same<OnOneRank<Odd>, Both>("both", 2, 1e-9);
  CHECK(r.text == "");
}
TEST_CASE("layer after layer, each over another axis") { agrees<Dense, EachOverAnother>(); }
TEST_CASE("columns of columns, rows of rows") { agrees<Dense, PartsOfParts>(); }
TEST_CASE("what does not divide, over one axis and over both") {
  agrees<Odd, ColumnsAndRows>();
  agrees<Odd, EachOverAnother>();
  agrees<Odd, RowsAfterColumns, Clipped>();
  agrees<Odd, PartsOfParts>();
  agrees<Odd, ColumnsThenSamples>();
}
TEST_CASE(
    "samples over one or both axes, beside replicas: gradients are summed by groups of ranks that are no neighbours") {
  agrees<Dense, SamplesThenColumns>();
  agrees<Dense, ColumnsThenSamples>();
  agrees<Dense, Samples>();
}
TEST_CASE("ordered sums over parts of parts of the samples have the bits of one rank") {
  using P = OnCube<Dense, Samples>;
  for (int replicas : {1, 2, 4}) {
    CheckReport const r = session::same<OnOneRank<Dense>, P>("cut", replicas, 0);
    CHECK(r.text == "");
  }
}
TEST_CASE("convolutions, statistics of the batch, dropout") {
  agrees<Pictures, WeirdTrick>();
  agrees<Pictures, Channels>();
  agrees<Pictures, ChannelsOut>();
  agrees<Pictures, AllSamples>();
}
TEST_CASE("the norm counts each weight once, wherever it is cut") {
  agrees<Dense, ColumnsAndRows, Clipped>();
  agrees<Dense, ColumnsThenSamples, Clipped>();
  agrees<Dense, PartsOfParts, Clipped>();
}
TEST_CASE("by a route, with shared messages, in rounds") {
  agrees<Dense, ColumnsThenSamples, Fastest, ReduceBy<HalvingDoubling>>();
  agrees<Dense, SamplesThenColumns, Buckets<1000>>();
  agrees<Dense, ColumnsThenSamples, Accumulate<2>>({2});  // of the input there is the gradient of one round
}
TEST_CASE(
    "any cuts over two or three axes of 8 ways: what can be placed is exchanged soundly, and sends what is counted") {
  CHECK(sound(std::make_integer_sequence<int, 32>{}) > 10);
}
TEST_CASE("on a device") {
  agrees_on_device<Dense, ColumnsAndRows>();
  agrees_on_device<Dense, ColumnsThenSamples>();
  agrees_on_device<Odd, RowsAfterColumns>();
  agrees_on_device<Pictures, ChannelsOut>();
}

struct Positions : Sequential<Sequence<4, 8>, PerPosition<Linear<8, NoBias>>, Linear<8, NoBias>, MeanSquaredError> {};
CUTS(FeaturesThenPositions, "oo", "ii");
CUTS(FeaturesOverOneAxis, "oo", "i.");
CUTS(EachAnotherDimension, "o.", ".i");
CUTS(ColumnsThenOneAxis, "o.", "i.");
CUTS(FeaturesAndPositions, "oi", "io");

// Relu would have features in parts along one axis and positions along the other.
struct Rectified
    : Sequential<Sequence<4, 8>, PerPosition<Linear<8, NoBias>, Relu>, Linear<8, NoBias>, MeanSquaredError> {};
CUTS(FeaturesAndPositionsAtOnce, "oi", "ii");
static_assert(OnCube<Rectified, FeaturesAndPositionsAtOnce>::placed.verdict.law == place::Law::Unconvertible);

TEST_CASE("a sequence from features to positions over both axes goes by way of the whole") {
  agrees<Positions, FeaturesThenPositions>();
  agrees<Positions, FeaturesOverOneAxis>();
  agrees<Positions, EachAnotherDimension>();
  agrees<Positions, ColumnsThenOneAxis>();
  agrees<Positions, FeaturesAndPositions>();
}
