// schedule/pipeline.cpp - orders of pipelines: complete, ended under rendezvous, and how much they keep; wrong orders are told.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cleave/schedule/pipeline.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

using namespace cleave::schedule;
using enum PipelineOrder;

namespace {

/// The interleaved order takes the micro-batches in groups of as many as there are stages. GPipe has no such order.
constexpr bool is_possible(Pipeline const& p) {
  return p.chunks == 1 || (p.order == OneForwardOneBackward && p.micro_batches % p.stages == 0);
}
template <Pipeline P> constexpr auto pipeline_table() {
  PipelineTable<P.stages, P.tasks()> out;
  for (int s = 0; s < P.stages; ++s) {
    for (int k = 0; k < P.tasks(); ++k) out.add(s, pipeline_task(P, s, k));
  }
  return out;
}

/// The largest number of micro-batches, counted once for each part, whose activations a stage keeps at once.
constexpr int most_kept(Pipeline const& p, int stage) {
  int now = 0, most = 0;
  for (int k = 0; k < p.tasks(); ++k) {
    now += pipeline_task(p, stage, k).back ? -1 : 1;
    most = now > most ? now : most;
  }
  return most;
}

template <Pipeline P> constexpr PipelineVerdict verdict(PipelineTransfers how) {
  return pipeline_verdict(pipeline_table<P>(), P, how);
}
template <Pipeline P> constexpr bool ends(PipelineTransfers how) { return verdict<P>(how).ends(); }

// 16 stages x 64 micro-batches.
constexpr Pipeline large{OneForwardOneBackward, 16, 64};
static_assert(ends<large>(PipelineTransfers::Together));
constexpr PipelineVerdict naive = verdict<large>(PipelineTransfers::Alone);
static_assert(naive.fault == PipelineFault::Waits && naive.stage == 0 && naive.peer == 1);
static_assert(ends<Pipeline{GPipe, 16, 64}>(PipelineTransfers::Alone));
static_assert(most_kept(large, 0) == 16 && most_kept(large, 15) == 1);
static_assert(most_kept(Pipeline{GPipe, 16, 64}, 15) == 64);

// Chunks in turn meet in a circle unless a receive is posted a task ahead.
constexpr Pipeline interleaved{OneForwardOneBackward, 4, 8, 2};
static_assert(verdict<interleaved>(PipelineTransfers::Together).fault == PipelineFault::Waits);
static_assert(ends<interleaved>(PipelineTransfers::Ahead));
static_assert(ends<Pipeline{OneForwardOneBackward, 8, 32, 4}>(PipelineTransfers::Ahead));
static_assert(!is_possible(Pipeline{OneForwardOneBackward, 4, 6, 2}) &&
              is_possible(Pipeline{OneForwardOneBackward, 4, 6}));

// Orders of one's own.
constexpr Pipeline small{OneForwardOneBackward, 2, 2};
using Table = PipelineTable<2, 5>;
constexpr Table copy() {
  Table t;
  for (int s = 0; s < 2; ++s) {
    for (int k = 0; k < small.tasks(); ++k) t.add(s, pipeline_task(small, s, k));
  }
  return t;
}
template <class Change> constexpr PipelineVerdict changed(Change change) {
  Table t = copy();
  change(t);
  return pipeline_verdict(t, small, PipelineTransfers::Together);
}
static_assert(changed([](Table&) {}).ends());
static_assert(changed([](Table& t) {  // stage 1 takes the micro-batches the other way round
                for (PipelineTask& task : t.of[1]) task.micro_batch = 1 - task.micro_batch;
              })
                  .fault == PipelineFault::Order);
static_assert(changed([](Table& t) { --t.count[1]; }).fault == PipelineFault::Lost);
static_assert(changed([](Table& t) { t.add(0, t.of[0][0]); }).fault == PipelineFault::Twice);
static_assert(changed([](Table& t) { t.of[0][3] = t.of[1][3]; }).fault == PipelineFault::Misplaced);
static_assert(changed([](Table& t) { t.of[1][0].back = true; }).fault == PipelineFault::Early);

// Stage 1 takes its second part first, for which stage 0 has not what it sends.
constexpr Pipeline chunked{OneForwardOneBackward, 2, 2, 2};
constexpr PipelineVerdict other = [] {
  auto t = pipeline_table<chunked>();
  for (int k = 0; k < chunked.tasks(); ++k) {
    if (!t.of[1][k].back) t.of[1][k].part = 4 - t.of[1][k].part;
  }
  return pipeline_verdict(t, chunked, PipelineTransfers::Ahead);
}();
static_assert(other.fault == PipelineFault::Other && other.stage == 1 && other.task == 0 && other.peer == 0);

// All first chunks, then all second ones: what ends under rendezvous waits here for a place that is not free.
constexpr Pipeline in_turn{OneForwardOneBackward, 2, 3, 2};
constexpr PipelineVerdict no_place = [] {
  PipelineTable<2, 12> t;
  for (int part : {0, 2}) {
    for (int m = 0; m < 3; ++m) t.add(0, {part, m, false});
  }
  for (int part : {2, 0}) {
    for (int m = 0; m < 3; ++m) t.add(0, {part, m, true});
  }
  for (int m = 0; m < 3; ++m) t.add(1, {1, m, false});
  for (int m = 0; m < 3; ++m) t.add(1, {3, m, false}), t.add(1, {3, m, true});
  for (int m = 0; m < 3; ++m) t.add(1, {1, m, true});
  return pipeline_verdict(t, in_turn, PipelineTransfers::Together);
}();
static_assert(no_place.fault == PipelineFault::Waits && no_place.stage == 0 && no_place.peer == 1);

/// Stages as threads run them: what is sent stays where it is until the other stage has read it, an activation in its
/// slot, a gradient in the one place for it. Whether all of `steps` steps end, with or without tasks back.
bool ends_in_place(Pipeline const& p, int steps, bool training) {
  struct Sent {
    int offered = 0, read = 0;
  };
  std::vector<Sent> forward(static_cast<std::size_t>(p.parts())), back = forward;  // by the part that sends
  std::vector<int> slots(static_cast<std::size_t>(p.parts())), now = slots;
  std::vector<std::vector<PipelineTask>> tasks(static_cast<std::size_t>(p.stages));
  for (int s = 0; s < p.stages; ++s) {
    for (int k = 0; k < p.tasks(); ++k) {
      PipelineTask const t = pipeline_task(p, s, k);
      auto const part = static_cast<std::size_t>(t.part);
      now[part] += t.back ? -1 : 1;
      slots[part] = std::max(slots[part], now[part]);
      if (training || !t.back) tasks[static_cast<std::size_t>(s)].push_back(t);
    }
  }
  std::vector<std::size_t> at(static_cast<std::size_t>(p.stages));
  auto const run = [&](PipelineTask t) {
    int const part = t.part, from = t.back ? part + 1 : part - 1, to = t.back ? part - 1 : part + 1;
    auto const crosses = [&](int beside) { return p.stages > 1 && beside >= 0 && beside < p.parts(); };
    auto& all = t.back ? back : forward;
    Sent* const out = crosses(to) ? &all[static_cast<std::size_t>(part)] : nullptr;
    Sent* const in = crosses(from) ? &all[static_cast<std::size_t>(from)] : nullptr;
    int const places = t.back ? 1 : slots[static_cast<std::size_t>(part)];
    if (out && out->read < out->offered + 1 - std::min(t.micro_batch + 1, places)) return false;
    if (in && in->offered <= in->read) return false;
    if (in) ++in->read;
    if (out) ++out->offered;
    return true;
  };
  for (bool moves = true; moves;) {
    moves = false;
    for (std::size_t s = 0; s < tasks.size(); ++s) {
      while (at[s] < tasks[s].size() * static_cast<std::size_t>(steps) && run(tasks[s][at[s] % tasks[s].size()])) {
        ++at[s];
        moves = true;
      }
    }
  }
  bool all = true;
  for (std::size_t s = 0; s < tasks.size(); ++s)
    all = all && at[s] == tasks[s].size() * static_cast<std::size_t>(steps);
  return all;
}

}  // namespace

// A stage of GPipe that has sent its first chunk's micro-batches would wait for one that still makes them.
static_assert(!is_possible(Pipeline{GPipe, 4, 12, 2}));
static_assert(!ends<Pipeline{GPipe, 4, 12, 2}>(PipelineTransfers::Ahead));

TEST_CASE("every order of 1 to 6 stages ends with receives posted ahead, and stages keep as much as 1F1B says") {
  for (int stages = 1; stages <= 6; ++stages) {
    for (int micro_batches = 1; micro_batches <= 13; ++micro_batches) {
      for (int chunks = 1; chunks <= 3; ++chunks) {
        for (PipelineOrder order : {GPipe, OneForwardOneBackward}) {
          Pipeline const p{order, stages, micro_batches, chunks};
          if (!is_possible(p)) continue;
          CAPTURE(stages);
          CAPTURE(micro_batches);
          CAPTURE(chunks);
          // The table of the largest: a proof uses those stages that there are.
          PipelineTable<6, 2 * 13 * 3> table;
          for (int s = 0; s < stages; ++s) {
            for (int k = 0; k < p.tasks(); ++k) table.add(s, pipeline_task(p, s, k));
          }
          PipelineVerdict const v = pipeline_verdict(table, p, PipelineTransfers::Ahead);
          CHECK(static_cast<int>(v.fault) == static_cast<int>(PipelineFault::None));
          CHECK(ends_in_place(p, 3, true));
          CHECK(ends_in_place(p, 3, false));
          if (chunks > 1) continue;
          for (int s = 0; s < stages; ++s) {
            int const fill = order == GPipe ? micro_batches : std::min(stages - s, micro_batches);
            CHECK(most_kept(p, s) == fill);
          }
        }
      }
    }
  }
}
