// sim/spans.cpp - the spans of a modelled step: without gaps, as long as the step, and a pipeline's as its tasks say.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave.hpp>
#include <cleave/sim/timeline.hpp>

#include <algorithm>
#include <vector>

using namespace cleave;

namespace {

struct Gpu : Machine<10'000, Link<5'000, 10'000>> {
  static constexpr double memory_bytes = 800, start_ns = 1'000;
};
using Free = Machine<10'000, Link<0, 1'000'000'000>>;  // messages take next to nothing
struct Clipped : Momentum {
  static constexpr float clip_norm = 1;
};
struct Net : Sequential<Vector<512>, Linear<512>, Relu, Linear<512>, Relu, Linear<512>, CrossEntropy> {};
template <class... Ps> struct Of : Plan<Net, Batch<96>, MicroBatches<8>, DataParallel<Sync>, Momentum, Ps...> {};
// Eight layers that cost the same; the first takes one number, so that it has no less to do back than the others.
struct Deep : Sequential<Vector<1>, Linear<512>, Linear<512>, Linear<512>, Linear<512>, Linear<512>, Linear<512>,
                         Linear<512>, Linear<512>, Linear<512>, CrossEntropy> {};
template <class Order, int Rounds, int Stages = 4, class... Ps>
struct Staged : Plan<Deep, Batch<64>, MicroBatches<32>, ModelParallel<SplitLayers<Stages, Order, FirstLayers<3, 5, 7>>>,
                     Accumulate<Rounds>, Sgd, Ps...> {};

double spent(std::vector<sim::StepSpan> const& spans, auto counts) {
  double sum = 0;
  for (auto const& s : spans) sum += counts(s.what) ? s.length() : 0;
  return sum;
}
template <class P> std::vector<sim::StepTimeline> of(sim::Speeds const& speed, int replicas) {
  auto const ranks = sim::timelines<P>(speed, replicas);
  double const total = sim::step_at<P>(speed, replicas).total;
  CHECK(ranks.size() == static_cast<std::size_t>(P::ranks_of(replicas).world()));
  for (sim::StepTimeline const& r : ranks) {
    REQUIRE(!r.work.empty());
    CHECK(r.work.front().begin == 0);
    CHECK(r.work.back().end == total);
    for (std::size_t i = 1; i < r.work.size(); ++i) CHECK(r.work[i].begin == r.work[i - 1].end);
    for (std::size_t i = 1; i < r.sums.size(); ++i) CHECK(r.sums[i].begin >= r.sums[i - 1].end);
    for (auto const& s : r.work) CHECK(s.end > s.begin);
    for (auto const& s : r.sums) CHECK(s.end <= total);
  }
  return ranks;
}
template <class P, class M> std::vector<sim::StepTimeline> of(int replicas) {
  return of<P>(sim::speeds<M>(P::format.data), replicas);
}
bool alike(sim::StepTimeline const& a, sim::StepTimeline const& b) {
  auto const same = [](sim::StepSpan const& s, sim::StepSpan const& t) {
    return s.what == t.what && s.line == t.line && s.round == t.round && s.begin == t.begin && s.end == t.end;
  };
  return std::ranges::equal(a.work, b.work, same) && std::ranges::equal(a.sums, b.sums, same);
}

/// The length of a pipeline's step whose parts take these times, by the table of its order alone.
template <class P> double played(double const* forward, double const* back) {
  constexpr schedule::Pipeline p = P::pipeline;
  double ended[2][p.parts()][p.micro_batches]{}, at[p.stages]{}, end = 0;
  int next[p.stages]{};
  for (int left = p.stages * p.tasks(); left > 0;) {
    for (int s = 0; s < p.stages; ++s) {
      if (next[s] == p.tasks()) continue;
      schedule::PipelineTask const t = schedule::program<P>.pipeline.task(s, next[s]);
      int const from = t.part + (t.back ? 1 : -1);
      bool const first = from < 0 || from == p.parts();
      double const ready = first ? 0 : ended[t.back][from][t.micro_batch];
      if (!first && ready == 0) continue;
      at[s] = std::max(at[s], ready) + (t.back ? back : forward)[t.part];
      end = std::max(end, at[s]);
      ended[t.back][t.part][t.micro_batch] = at[s];
      ++next[s], --left;
    }
  }
  return end;
}
template <class P> void pipelined() {
  auto const speed = sim::speeds<Free>(4);
  sim::StepModel<P> const model(speed, 1);
  constexpr schedule::Pipeline p = P::pipeline;
  double forward[p.parts()]{}, back[p.parts()]{};
  for (int k = 0; k < P::schedule.steps; ++k) {
    int const part = schedule::part_of(schedule::program<P>, P::schedule.step[k]);
    if (model.what(k) == sim::Activity::Forward) forward[part] += model.time(k);
    if (model.what(k) == sim::Activity::Backward) back[part] += model.time(k);
  }
  double const total = sim::step_at<P>(speed, 1).total;
  CHECK(total == doctest::Approx(played<P>(forward, back)).epsilon(1e-3));
  auto const ranks = of<P>(speed, 1);
  double waited = 0;
  for (auto const& r : ranks) waited += spent(r.work, sim::waits);
  CHECK(waited / (total * p.stages) == doctest::Approx(schedule::bubble(p)).epsilon(0.02));
}

}  // namespace

static_assert(sim::step<Gpu, Of<>>(4).bubble == 0);
static_assert(step_time<Staged<GPipe, 8>, Free> > 0 && sim::step<Gpu, Staged<GPipe, 8>>(1).bubble > 0);
static_assert(bottleneck<Staged<OneForwardOneBackward, 1>, Free> == Bottleneck::Stages);

TEST_CASE("the ranks of a data-parallel plan are alike, and spend their time as the step says") {
  for (int n : {1, 2, 4, 8}) {
    auto const ranks = of<Of<>, Gpu>(n);
    sim::Step const step = sim::step<Gpu, Of<>>(n);
    using enum sim::Activity;
    for (auto const& r : ranks) {
      CHECK(alike(r, ranks[0]));
      CHECK(spent(r.work, [](auto a) { return a == Forward || a == Backward; }) == doctest::Approx(step.compute));
      CHECK(spent(r.work, [](auto a) { return a == WaitForSums; }) == doctest::Approx(step.exposed));
      CHECK(spent(r.work, [](auto a) { return a == Update; }) == doctest::Approx(step.updating));
      CHECK(r.sums.size() == (n == 1 ? 0u : 3u));
    }
    CHECK(step.total == doctest::Approx(step.compute + step.exposed + step.converting + step.updating));
  }
}
TEST_CASE("of 8 micro-batches on 3 replicas two ranks have 3; the third waits for them") {
  auto const ranks = of<Of<>, Gpu>(3);
  auto const computes = [](auto a) { return a == sim::Activity::Forward || a == sim::Activity::Backward; };
  std::vector<double> all;
  for (auto const& r : ranks) all.push_back(spent(r.work, computes));
  std::ranges::sort(all);
  CHECK(all[0] < all[1]);
  CHECK(all[1] == all[2]);
  CHECK(all[2] == doctest::Approx(sim::step<Gpu, Of<>>(3).compute));
}
TEST_CASE("columns, a norm, weights in turn and rounds") {
  of<Of<ModelParallel<SplitCols, Ways<2>>>, Gpu>(4);
  of<Of<ModelParallel<SplitCols, Ways<2>>, Accumulate<2>>, Gpu>(2);
  of<Plan<Net, Batch<96>, MicroBatches<8>, DataParallel<Sync>, Clipped>, Gpu>(4);
  of<Plan<Net, Batch<96>, MicroBatches<8>, DataParallel<Sync, Zero<3>>, Adam>, Gpu>(4);
  of<Plan<Net, Batch<96>, DataParallel<Async>, Momentum>, Gpu>(4);
}
TEST_CASE("in rounds, gradients are sent in the last one alone: less of the backward pass hides them") {
  sim::Step const once = sim::step<Free, Of<>>(2), rounds = sim::step<Free, Of<Accumulate<4>>>(2);
  CHECK(rounds.compute == doctest::Approx(once.compute));
  using Slow = Machine<10'000, Link<5'000, 500>>;
  CHECK(sim::step<Slow, Of<Accumulate<4>>>(2).exposed > sim::step<Slow, Of<>>(2).exposed);
}
TEST_CASE("a pipeline waits as its tasks say; of parts that cost the same, as the closed form does") {
  pipelined<Staged<GPipe, 8>>();
  pipelined<Staged<OneForwardOneBackward, 8>>();
  pipelined<Staged<OneForwardOneBackward, 32>>();
}
TEST_CASE("a pipeline with replicas, with chunks, and with a norm over all stages") {
  struct Replicas : Plan<Deep, Batch<64>, MicroBatches<32>, DataParallel<Sync>, ModelParallel<SplitLayers<2>>,
                         Accumulate<4>, Clipped> {};
  struct Chunks : Plan<Deep, Batch<64>, MicroBatches<32>, ModelParallel<SplitLayers<2, Interleaved<2>>>, Accumulate<8>,
                       Momentum> {};
  auto const ranks = of<Replicas, Gpu>(4);
  for (std::size_t r = 0; r < 8; ++r) CHECK(alike(ranks[r], ranks[r / 4 * 4]));
  CHECK_FALSE(alike(ranks[0], ranks[4]));
  of<Chunks, Gpu>(1);
  // A stage goes back as soon as the gradient from the next one is there, whose weights are updated later.
  struct Slow : Plan<Deep, Batch<64>, MicroBatches<32>, DataParallel<Sync>, ModelParallel<SplitLayers<2>>,
                     Accumulate<4>, Momentum> {};
  auto const slow = of<Slow, Machine<10'000, Link<5'000, 500>>>(4);
  auto const last = [](auto const& r, auto what) {
    return *std::find_if(r.work.rbegin(), r.work.rend(), [&](auto const& s) { return s.what == what; });
  };
  CHECK(last(slow[0], sim::Activity::Backward).end < last(slow[4], sim::Activity::WaitForSums).begin);
  sim::Step const s = sim::step<Gpu, Replicas>(4);
  CHECK(s.total == doctest::Approx(s.compute + s.exposed + s.converting + s.updating + s.bubble));
}
TEST_CASE("samples a second are those of the step; of replicas that do not wait for each other, up to the server's") {
  sim::Speeds const speed = sim::speeds<Gpu>(4);
  CHECK(sim::samples_a_second<Of<>>(speed, 4) == doctest::Approx(96e9 / step_time<Of<>, Gpu, 4>));
  struct Free : Plan<Net, Batch<96>, DataParallel<Async>, Momentum> {};
  double const bytes = 2.0 * traffic<Free, 1>.bytes_per_step, most = 96e9 / (bytes * speed.ns_of_byte);
  CHECK(sim::samples_a_second<Free>(speed, 1) < 96e9 / step_time<Free, Gpu, 1>);
  CHECK(sim::samples_a_second<Free>(speed, 64) == doctest::Approx(most).epsilon(0.01));
  struct Seldom : Plan<Net, Batch<96>, DataParallel<Downpour<16, 8>>, Momentum> {};
  sim::Saturation const often = sim::served_by<Free>(speed), seldom = sim::served_by<Seldom>(speed);
  CHECK(seldom.compute == doctest::Approx(8 * often.compute));
  CHECK(seldom.service == doctest::Approx(0.75 * often.service));  // pushed once, and fetched every other time
  struct Waiting : Plan<Net, Batch<96>, DataParallel<Sync, Spares<1>>, Momentum> {};
  CHECK(sim::samples_a_second<Waiting>(speed, 4) == 0);
}
