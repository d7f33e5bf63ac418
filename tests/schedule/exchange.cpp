// schedule/exchange.cpp - every exchange on 1 to 8 replicas: sound, and counted as the closed forms and the ranks count it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <array>

#include <doctest/doctest.h>
#include <cleave.hpp>
#include <cleave/schedule/exchange_goal.hpp>
#include <cleave/schedule/exchange_traffic.hpp>

using namespace cleave;

namespace {

// Nothing divides: 7, 13 and 3 features, 13 and 7 micro-batches. 7 micro-batches leave ranks with two branches.
struct Odd : Sequential<Vector<7>, Linear<13>, Tanh, Linear<3>, CrossEntropy> {};
struct Norms : Sequential<Image<2, 5, 5>, Conv<3, 3>, BatchNorm, Relu, Linear<5>, CrossEntropy> {};
struct Words : Sequential<Vector<3>, Embedding<11, 3>, Linear<5>, Relu, Linear<2>, CrossEntropy> {};
struct Sent : Sequential<Vector<6>, Linear<5, SendFactors>, Relu, Linear<2>, CrossEntropy> {};
struct Turns
    : Sequential<Image<2, 4, 4>, Conv<4, 3, ModelParallel<SplitBatch>>, Relu, Linear<6, ModelParallel<SplitRows>>, Relu,
                 Linear<4, ModelParallel<SplitCols>>, Relu, Linear<4, ModelParallel<Whole>>, CrossEntropy> {};
struct Positions
    : Sequential<Vector<4>, Embedding<11, 3, SendDense>, Residual<PerPosition<LayerNorm, Linear<5>, Relu, Linear<3>>>,
                 PerPosition<LayerNorm, Linear<2>, CrossEntropy>> {};
struct Heads : Sequential<Vector<4>, Embedding<11, 8, SendDense>, Attention<4, Causal>,
                          PerPosition<LayerNorm, Linear<2>, CrossEntropy>> {};
/// Windows that read rows of one or two other ranks, none that read a row, sums over the rows of all.
struct Rows : Sequential<Image<2, 4, 3>, Conv<2, 5, Pad<2>>, BatchNorm, Relu, ConvTranspose<2, 4, Stride<2>, Pad<1>>,
                         Conv<2, 1, Stride<2>>, Linear<2>, CrossEntropy> {};
struct Clipped : Momentum {
  static constexpr float clip_norm = 1;
};
template <class Net, class... Policies>
struct Of : Plan<Net, Batch<26>, MicroBatches<13>, DataParallel<Sync>, Policies...> {};
template <class Net, class... Policies>
struct Even : Plan<Net, Batch<48>, MicroBatches<16>, DataParallel<Sync>, Policies...> {};

template <class Net, class... Policies>
struct InParts : Plan<Net, Batch<26>, MicroBatches<13>, DataParallel<Sync, Zero<1>>, Policies...> {};
template <class Net, class... Policies>
struct Gathers : Plan<Net, Batch<26>, MicroBatches<13>, DataParallel<Sync, Zero<3>>, Policies...> {};

template <int Stage, int Slices, int N, class... Policies>
struct Rounds
    : Plan<Odd, Batch<48>, MicroBatches<Slices>, DataParallel<Sync, Zero<Stage>>, Accumulate<N>, Policies...> {};

template <class P> schedule::Share share_of(int replicas) { return P::share(P::ranks_of(replicas)); }

/// The first step whose exchange is not sound, or does not send what the closed form says.
template <class P> std::string wrong(int replicas) {
  schedule::Share const share = share_of<P>(replicas);
  schedule::Program const& program = schedule::program<P>;
  for (int s = 0; s < program.steps; ++s) {
    std::string const where =
        "step " + std::to_string(s) + ", " + std::string(schedule::name(program.step[s].what)) + ": ";
    for (int round = 0; round < share.rounds; ++round) {
      if (schedule::ExchangeFault const f = schedule::check_exchange(program, s, share, round))
        return where + "rank " + std::to_string(f.rank) + " in round " + std::to_string(f.round) + " " +
               std::string(f.what);
    }
    for (int rank = 0; rank < share.ranks.world(); ++rank) {
      schedule::TrafficCount const count = schedule::sent(program, s, share, rank);
      schedule::Message const m = schedule::message(program.step[s], program, P::request, share.ranks, rank);
      if (m.verb != op::Verb::Push && (count.elements != m.sent || count.sent_bytes != m.bytes))
        return where + "rank " + std::to_string(rank) + " sends " + std::to_string(count.elements) + " elements, " +
               std::to_string(count.sent_bytes) + " bytes; the closed form says " + std::to_string(m.sent) + ", " +
               std::to_string(m.bytes);
    }
  }
  return {};
}
/// The first rank of a trainer that sends something else.
template <class P> std::string miscounted(int replicas) {
  Trainer<P> trainer(replicas);
  session::Probing<P> probe;
  for (std::size_t i = 0; P::tokens.vocabulary > 0 && i < probe.x.size(); ++i) probe.x[i] = static_cast<double>(i % 11);
  trainer.train(0, 2, probe.feed(), 0.01);
  schedule::Program const& program = schedule::program<P>;
  for (int rank = 0; rank < trainer.ranks().world(); ++rank) {
    long elements = trainer.sent_rows(rank).elements, bytes = trainer.sent_rows(rank).bytes;
    for (int s = 0; s < program.steps; ++s) {
      schedule::TrafficCount const count = schedule::sent(program, s, share_of<P>(replicas), rank);
      elements += 2 * count.elements;
      bytes += 2 * count.sent_bytes;
    }
    if (trainer.sent(rank) != elements || trainer.sent_bytes(rank) != bytes)
      return "rank " + std::to_string(rank) + " has sent " + std::to_string(trainer.sent(rank)) + " elements, " +
             std::to_string(trainer.sent_bytes(rank)) + " bytes; its exchanges are of " + std::to_string(elements) +
             ", " + std::to_string(bytes);
  }
  return {};
}
template <class P> void holds(int most = 8) {
  for (int replicas = 1; replicas <= most; ++replicas) {
    CAPTURE(replicas);
    CHECK(wrong<P>(replicas) == "");
    if (replicas == 1 || replicas == 2 || replicas == 3) CHECK(miscounted<P>(replicas) == "");
  }
}

/// Passes on what a rank does, but for a mistake in its write number `which`.
enum class Mistake { Lost, FromAnother, Shifted };
template <class V> struct Planted {
  V& v;
  Mistake mistake;
  int which, ranks, seen = -1;
  void round() { v.round(); }
  void write(schedule::Write const& w) {
    if (++seen != which || mistake != Mistake::Lost) v.write(w);
  }
  void source(schedule::Source s) {
    if (seen == which && mistake == Mistake::Lost) return;
    if (seen == which && mistake == Mistake::FromAnother) s.rank = (s.rank + 1) % ranks;
    if (seen == which && mistake == Mistake::Shifted) ++s.at.begin;
    v.source(s);
  }
};
/// How many mistakes in one rank's part of all exchanges are accepted; `planted` counts them.
template <class P> int accepted(int replicas, int& planted, int round = 0) {
  schedule::Program const& program = schedule::program<P>;
  schedule::Share const share = share_of<P>(replicas);
  int out = 0;
  for (int s = 0; s < program.steps; ++s) {
    schedule::TransferList list;
    if (round > 0 && schedule::once_a_step(program.step[s].what, share.sums_rounds)) continue;
    schedule::exchange(program, s, share, 1, round, list);
    std::vector<bool> reads;  // of each write
    for (int r = 0; r < list.rounds(); ++r)
      list.each(r, [&](auto const&, auto const& from) { reads.push_back(!from.empty()); });
    for (int k = 0; k < 3 * static_cast<int>(reads.size()); ++k) {
      if (static_cast<Mistake>(k % 3) != Mistake::Lost && !reads[static_cast<std::size_t>(k / 3)]) continue;
      auto const each = [&]<class V>(int rank, V& v) {
        Planted<V> planting{v, static_cast<Mistake>(k % 3), rank == 1 ? k / 3 : -2, share.ranks.world()};
        schedule::exchange(program, s, share, rank, round, planting);
      };
      schedule::StepGoal const goal(program, s, share, round);
      schedule::ExchangeCheck<decltype(each), schedule::StepGoal, std::vector<schedule::CheckedElement>> check(
          share.ranks.world(), each, goal);
      std::vector<schedule::CheckedElement> memory(static_cast<std::size_t>(check.size()));
      ++planted;
      if (!check.run(memory)) ++out;
    }
  }
  return out;
}

/// A whole exchange in a constant.
template <class P, int Replicas> constexpr bool sound() {
  for (int s = 0; s < P::schedule.steps; ++s) {
    using Memory = std::array<schedule::CheckedElement, 700>;
    if (schedule::check_exchange<Memory>(schedule::program<P>, s, P::share({Replicas, P::ways}))) return false;
  }
  return true;
}
struct Small : Sequential<Vector<3>, Linear<2>, MeanSquaredError> {};
template <class... Policies> struct Constant : Plan<Small, Batch<3>, DataParallel<Sync>, Policies...> {};
static_assert(sound<Constant<>, 3>());
static_assert(sound<Constant<Fastest, ReduceBy<Ring>>, 3>());
struct Columns : Plan<Small, Batch<4>, ModelParallel<SplitCols>> {};
static_assert(Columns::legal && sound<Columns, 1>());

}  // namespace

TEST_CASE("a sum of gradients: each rank sums a part, and reads the others") {
  holds<Of<Odd>>();
  holds<Of<Odd, Fastest>>();
  holds<Of<Odd, Precision<bf16>>>();
  holds<Of<Odd, Clipped>>();
  holds<Of<Odd, Clipped, Precision<bf16>>>();
  holds<Even<Odd, Accumulate<2>>>();
  holds<Even<Odd, Buckets<1024>>>();
}

TEST_CASE("an optimizer in parts: each rank updates a part, and reads the others' weights") {
  holds<InParts<Odd, Adam>>();
  holds<InParts<Odd, Adam, Fastest>>();
  holds<InParts<Odd, Momentum, Precision<bf16>>>();
  holds<InParts<Norms, Adam>>();
  holds<InParts<Odd, Clipped>>();
  holds<InParts<Odd, Clipped, Precision<bf16>>>();
  holds<InParts<Odd, Adam, Buckets<1024>>>();
  using Both = Plan<Turns, Batch<48>, MicroBatches<16>, DataParallel<Sync, Zero<1>>, Adam>;
  holds<Both>(4);
}
TEST_CASE("weights in parts: each rank updates its part, and all gather a bucket before they read it") {
  holds<Gathers<Odd, Adam>>();
  holds<Gathers<Odd, Momentum, Precision<bf16>>>();
  holds<Gathers<Norms, Adam, Fastest>>();
  holds<Gathers<Odd, Clipped>>();
  holds<Gathers<Odd, Clipped, Precision<bf16>>>();
  using Both = Plan<Turns, Batch<48>, MicroBatches<16>, DataParallel<Sync, Zero<3>>, Clipped>;
  holds<Both>(4);
}
TEST_CASE(
    "gradients in turn over rounds: each round is summed, and a rank keeps its part of the sums that are complete") {
  holds<Rounds<2, 16, 2, Adam>>();
  holds<Rounds<2, 16, 4, Adam, Precision<bf16>>>(4);
  holds<Rounds<3, 16, 2, Clipped>>();
  holds<Rounds<2, 24, 5, Clipped, Precision<bf16>>>(4);
  holds<Rounds<3, 24, 8, Momentum>>(3);
  holds<Rounds<2, 24, 8, Momentum, Fastest>>(3);
  holds<Rounds<2, 24, 3, Momentum, Fastest, Precision<bf16>>>(5);
  using Both = Plan<Turns, Batch<48>, MicroBatches<16>, DataParallel<Sync, Zero<2>>, Adam, Accumulate<2>>;
  holds<Both>(4);
  using Sums = ModelParallel<SplitColsRows, Ways<2>>;  // norms have the positions of two ranks
  using Parts = Plan<Positions, Batch<24>, MicroBatches<12>, DataParallel<Sync, Zero<2>>, Sums, SequenceParallel, Adam,
                     Accumulate<4>>;
  holds<Parts>(3);
}

TEST_CASE("routes, in the format of sums and in a narrow one") {
  holds<Of<Odd, Fastest, ReduceBy<Ring>>>();
  holds<Of<Odd, Fastest, ReduceBy<Tree>, Precision<bf16>>>();
  holds<Of<Odd, Fastest, ReduceBy<HalvingDoubling>>>();
  holds<Of<Odd, Fastest, ReduceBy<Auto>, Clipped>>();
  for (int replicas : {2, 4, 6, 8}) {
    CAPTURE(replicas);
    CHECK(wrong<Of<Odd, Fastest, ReduceBy<Hierarchical<2>>>>(replicas) == "");
  }
  struct InOrder : Plan<Odd, Batch<16>, MicroBatches<8>, Mesh<Data<4>, Model<1>>, ReduceBy<HalvingDoubling>> {};
  CHECK(wrong<InOrder>(4) == "");
}

TEST_CASE("messages: encoded parts, the largest elements, nonzero rows, factors") {
  holds<Of<Odd, Fastest, Compress<Int8>>>();
  holds<Of<Odd, Fastest, Compress<OneBit, NoFeedback>>>();
  holds<Of<Odd, Fastest, Compress<TopK<100>>, Clipped>>();
  holds<Of<Words>>();
  holds<Of<Sent>>();
  holds<Of<Sent, Fastest>>();
}

TEST_CASE("beside a server, the ways of a replica sum what each of them has a copy of") {
  using Pushes = Even<Odd, ModelParallel<SplitBatch, Ways<2>>, Fastest, Compress<Int8>, Shards<1>>;
  CHECK(wrong<Pushes>(1) == "");
  schedule::Program const& program = schedule::program<Pushes>;
  long sent = 0;
  for (int s = 0; s < program.steps; ++s) sent += schedule::sent(program, s, share_of<Pushes>(1), 0).elements;
  CHECK(sent > 0);
}

TEST_CASE("values between the ways, sums over the batch, the norm over the ways") {
  holds<Of<Norms>>();
  holds<Even<Turns, Clipped>>(4);
  holds<Even<Turns, ModelParallel<SplitCols, Ways<3>>>>(3);
  holds<Of<Odd, ModelParallel<SplitRows, Ways<3>>>>(3);
  holds<Of<Odd, ModelParallel<SplitColsRows, Ways<2>>, Precision<bf16>>>(4);
  holds<Of<Norms, ModelParallel<SplitColsRows, Ways<3>>>>(3);
  holds<Even<Turns, Accumulate<3>>>(2);
  holds<Even<Turns, Precision<bf16>>>(4);
  holds<Even<Sequential<Vector<8>, Linear<8>, Tanh, Linear<4>, CrossEntropy>, ModelParallel<SplitRows, Ways<4>>>>(2);
}

TEST_CASE("gradients of norms and biases, where ranks have other positions of the same samples") {
  using Sums = ModelParallel<SplitColsRows, Ways<2>>;
  holds<Of<Positions, Sums, SequenceParallel>>(4);
  holds<Of<Positions, Sums, SequenceParallel, Fastest>>(3);
  holds<Of<Positions, Sums, SequenceParallel, Clipped, Precision<bf16>>>(3);
  holds<InParts<Positions, Sums, SequenceParallel, Adam>>(3);
  holds<Even<Positions, Sums, SequenceParallel, Accumulate<2>>>(2);
}

TEST_CASE("from parts of the positions to parts of the heads, and back") {
  holds<Of<Heads, ModelParallel<SplitPositions, Ways<2>>>>(4);
  holds<Of<Heads, ModelParallel<SplitPositions, Ways<4>>, Precision<bf16>>>(2);
  holds<Even<Heads, ModelParallel<SplitPositions, Ways<2>>, Accumulate<2>>>(2);
  holds<Of<Heads, ModelParallel<SplitAlong<SplitColsRows, SplitPositions>, Ways<2, 2>>, Clipped>>(3);
}

TEST_CASE("rows of images that windows read of other ranks, and sums of their gradients") {
  holds<Of<Rows, ModelParallel<SplitPositions, Ways<2>>>>(3);
  holds<Of<Rows, ModelParallel<SplitPositions, Ways<4>>, Precision<bf16>>>(2);
  holds<Of<Rows, ModelParallel<SplitPositions, Ways<2>>, Fastest>>(2);
  holds<Of<Rows, ModelParallel<SplitAlong<SplitCols, SplitPositions>, Ways<2, 2>>, Clipped>>(2);
  holds<Of<Rows, ModelParallel<SplitPositions, Ways<2>>, InputGradient>>(1);
}

TEST_CASE("whatever one rank leaves out, reads from another rank or one element further on is refused") {
  int planted = 0;
  CHECK(accepted<Of<Odd>>(3, planted) == 0);
  CHECK(accepted<Of<Odd, Precision<bf16>>>(3, planted) == 0);
  CHECK(accepted<InParts<Odd, Adam>>(3, planted) == 0);
  CHECK(accepted<Of<Positions, ModelParallel<SplitColsRows, Ways<2>>, SequenceParallel>>(2, planted) == 0);
  CHECK(accepted<Of<Heads, ModelParallel<SplitPositions, Ways<2>>>>(2, planted) == 0);
  CHECK(accepted<Of<Heads, ModelParallel<SplitAlong<SplitColsRows, SplitPositions>, Ways<2, 2>>>>(1, planted) == 0);
  // What every rank has whole, the image and a gradient, it may read of another.
  CHECK(accepted<Of<Rows, ModelParallel<SplitPositions, Ways<4>>>>(1, planted) == 2);
  CHECK(accepted<InParts<Odd, Adam, Precision<bf16>>>(3, planted) == 0);
  CHECK(accepted<Gathers<Odd, Adam>>(3, planted) == 0);
  for (int round : {0, 1, 3}) CHECK(accepted<Rounds<2, 12, 4, Adam>>(3, planted, round) == 0);
  // The digits of a norm are a sum over all ranks: it may read them in another order.
  CHECK(accepted<Gathers<Odd, Clipped>>(3, planted) == 1);
  CHECK(accepted<Of<Norms>>(3, planted) == 0);
  CHECK(accepted<Even<Turns>>(2, planted) == 0);
  // Where every rank has the whole sum of a bucket, it may read that of another.
  CHECK(accepted<Of<Odd, Fastest, ReduceBy<Ring>>>(3, planted) == 2);
  CHECK(accepted<Of<Odd, Fastest, ReduceBy<HalvingDoubling>>>(6, planted) == 2);
  CHECK(accepted<Of<Words>>(3, planted) == 1);
  CHECK(accepted<Of<Sent>>(3, planted) == 1);
  CHECK(accepted<Of<Odd, Fastest, Compress<Int8, NoFeedback>>>(3, planted) == 0);
  CHECK(accepted<Of<Odd, Fastest, Compress<TopK<100>, NoFeedback>>>(3, planted) == 2);
  CHECK(planted > 300);
}
