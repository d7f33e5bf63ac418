// backend/gpu/communication/exchanges.cpp - lists run on a device: values between ways, sums in the tree, peers behind a link.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cleave/schedule/exchange_goal.hpp>

#include "ranks.hpp"

using namespace cleave;
using namespace cleave::testing;
namespace gpu = cleave::backend::gpu;

namespace {

template <class N, class... Ps> struct Of : Plan<N, Batch<12>, MicroBatches<6>, DataParallel<Sync>, Ps...> {};
struct Mlp : Sequential<Vector<6>, Linear<8>, Relu, Linear<4>, CrossEntropy> {};
struct Normed : Sequential<Image<1, 4, 4>, Conv<2, 3>, BatchNorm, Linear<4>, CrossEntropy> {};
struct Clipped : Momentum {
  static constexpr float clip_norm = 1;
};

template <class P>
using ExchangesOf = gpu::Exchanges<typename P::number, typename RanksOf<P>::Machine, typename RanksOf<P>::Link>;

/// The first such conversion of the plan, when way w holds 100 w + i at element i.
template <class P> struct Converted : RanksOf<P> {
  static constexpr schedule::Program const& program = schedule::program<P>;
  static int find(op::Verb verb) {
    for (int s = 0; s < program.steps; ++s) {
      schedule::Do const what = program.step[s].what;
      bool const converts = what == schedule::Do::Convert || what == schedule::Do::ConvertBack;
      if (converts && schedule::verb_of(program, program.step[s]) == verb) return s;
    }
    throw Error("the plan has no such conversion");
  }
  int step;
  schedule::ProgramNode const& node = program.node[program.step[step].node];
  long rows = P::share(this->ranks).own(0, 0).size() * long{P::request.rows};
  explicit Converted(op::Verb verb) : RanksOf<P>(1), step(find(verb)) {
    int const in = schedule::converted(program, program.step[step]).index;
    for (int w = 0; w < P::ways; ++w) {
      float* const x = this->template tensor<float>(w, this->layout.buffer[in]);
      for (long i = 0; i < rows * node.features; ++i) x[i] = static_cast<float>(100 * w + i);
    }
    ExchangesOf<P> exchanges(this->all);
    exchanges.convert(step, 0);
    this->machine.finish();
  }
  float const* result(int way) {
    return this->template tensor<float>(way, this->layout.buffer[P::schedule.step[step].dx]);
  }
};

}  // namespace

TEST_CASE("features of the ways become whole samples on each") {
  Converted<Of<Mlp, ModelParallel<SplitCols>>> c(op::Verb::AllGather);
  long const part = c.node.features / 2;
  bool same = true;
  for (int way = 0; way < 2; ++way) {
    for (long i = 0; i < c.rows * c.node.features; ++i) {
      long const row = i / c.node.features, from = i % c.node.features / part, at = row * part + i % part;
      same = same && c.result(way)[i] == static_cast<float>(100 * from + at);
    }
  }
  CHECK(same);
  CHECK(c.all.at(0).m.received[1] == c.rows * part);
  CHECK(c.all.at(1).m.received_bytes[0] == c.rows * part * 4);
}
TEST_CASE("summands of the ways become their sum: on each, or the part that it needs") {
  Converted<Of<Mlp, ModelParallel<SplitColsRows>>> all(op::Verb::AllReduce);
  Converted<Of<Mlp, ModelParallel<SplitCols>>> parts(op::Verb::ReduceScatter);
  bool same = true;
  for (int way = 0; way < 2; ++way) {
    for (long i = 0; i < all.rows * all.node.features; ++i)
      same = same && all.result(way)[i] == static_cast<float>(2 * i + 100);
    long const part = parts.node.features / 2;
    for (long i = 0; i < parts.rows * part; ++i)
      same = same && parts.result(way)[i] ==
                         static_cast<float>(2 * (i / part * parts.node.features + way * part + i % part) + 100);
  }
  CHECK(same);
}
TEST_CASE("statistics of all branches, on every rank") {
  using P = Of<Normed>;
  RanksOf<P> of(3);
  ExchangesOf<P> exchanges(of.all);
  using S = tensor::batch_sum_t<float>;
  int const step = of.step(schedule::Do::Sum);
  long const n = schedule::program<P>.node[P::schedule.step[step].node].local.y.size();
  for (int r = 0; r < 3; ++r) {
    for (int branch = 0; branch < 2; ++branch) {
      S* const to = of.tensor<S>(r, of.layout.batch_sums) + branch * P::schedule.most_sum_leaf;
      for (long i = 0; i < n; ++i) to[i] = S(static_cast<double>(r + 1));
    }
  }
  exchanges.convert(step, 0);
  of.machine.finish();
  int branches = 0;  // of each rank: two micro-batches, siblings on all three
  schedule::each_branch(P::share(of.ranks), false, true, [&](int, int, int) { ++branches; });
  CHECK(branches == 3);
  for (int r = 0; r < 3; ++r) {
    S const* const sum = of.tensor<S>(r, of.layout.buffer[P::schedule.step[step].dx]);
    for (long i = 0; i < n; ++i) CHECK(static_cast<double>(sum[i]) == 6);
  }
}
TEST_CASE("one rank sums its own branches, and waits for nobody") {
  using P = Of<Normed>;
  RanksOf<P> of(1);
  ExchangesOf<P> exchanges(of.all);
  CHECK(!exchanges.of(of.step(schedule::Do::Sum)).meets);
  CHECK(exchanges.of(of.step(schedule::Do::Start)).rounds == 0);
}

namespace {

/// Lists as peers behind a link run them, checked as the others.
template <class P> std::string gathered(int replicas) {
  schedule::Program const& program = schedule::program<P>;
  schedule::Share const share = P::share({replicas, P::ways});
  for (int s = 0; s < program.steps; ++s) {
    if (program.step[s].what != schedule::Do::Start) continue;
    auto const each = [&](int rank, auto& v) {
      schedule::TransferList list;
      schedule::exchange(program, s, share, rank, 0, list);
      int const last = list.rounds() - 1;
      list = gpu::gather_before_apply(list, rank, last);
      for (int r = 0; r < list.rounds(); ++r) {
        v.round();
        if (r > last && !list.peers(r, rank).empty()) throw Error("the update reads a peer");
        list.each(r, [&](schedule::Write const& w, auto from) {
          v.write(w);
          for (schedule::Source const& source : from) v.source(source);
        });
      }
    };
    schedule::StepGoal const goal(program, s, share, 0);
    schedule::ExchangeCheck<decltype(each), schedule::StepGoal, std::vector<schedule::CheckedElement>> check(
        share.ranks.world(), each, goal);
    std::vector<schedule::CheckedElement> memory(static_cast<std::size_t>(check.size()));
    if (schedule::ExchangeFault const f = check.run(memory)) return std::string(f.what);
  }
  return {};
}

}  // namespace

TEST_CASE("what is gathered before the update is the same exchange, and the update reads no peer") {
  CHECK(gathered<Of<Mlp>>(3) == "");
  CHECK(gathered<Of<Mlp, Precision<bf16>>>(3) == "");
  CHECK(gathered<Of<Mlp, Fastest, ReduceBy<Ring>>>(3) == "");
  CHECK(gathered<Of<Mlp, Fastest, Compress<Int8>>>(3) == "");
  CHECK(gathered<Of<Mlp, Fastest, Compress<TopK<100>>>>(3) == "");
}
TEST_CASE("rounds: packed first in narrow formats; the last ones update, encoded sums are decoded there") {
  auto const lists = [](auto& of, auto const& exchanges) { return exchanges.of(of.step(schedule::Do::Start)); };
  using Narrow = Of<Mlp, Precision<bf16>, Clipped>;
  RanksOf<Narrow> narrow(3);
  gpu::RankLists const n = lists(narrow, ExchangesOf<Narrow>(narrow.all));
  CHECK((n.packs && n.meets && n.rounds == 3 && n.last == 2));
  using Plain = Of<Mlp, Clipped>;
  RanksOf<Plain> plain(2);
  gpu::RankLists const p = lists(plain, ExchangesOf<Plain>(plain.all));
  CHECK((!p.packs && p.rounds == 2 && p.last == 1));
  using Coded = Of<Mlp, Fastest, Compress<Int8>>;
  RanksOf<Coded> coded(2);
  gpu::RankLists const c = lists(coded, ExchangesOf<Coded>(coded.all));
  CHECK((!c.packs && c.rounds == 3 && c.last == 2));
}
