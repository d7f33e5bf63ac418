// sim/timeline.hpp - the modelled step of every rank as spans of time, and how many samples a second replicas make.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "saturation.hpp"
#include "step.hpp"

namespace cleave::sim {

/// Of a rank, or of the rank of a stage that has most micro-batches. `work` has no gaps from 0 to the end of the step;
/// `sums` is on the link beside it. Neither has empty spans.
struct StepTimeline {
  std::vector<StepSpan> work{}, sums{};
};

/// Of each stage.
template <class P> std::vector<StepTimeline> stage_timelines(StepModel<P> const& model) {
  std::vector<StepTimeline> out(StepModel<P>::stages);
  each_span(model, [&](int stage, StepSpan const& s) {
    auto& of = out[static_cast<std::size_t>(stage)];
    if (s.end > s.begin) (s.what == Activity::Sum ? of.sums : of.work).push_back(s);
  });
  return out;
}

/// Of a rank whose stage has this timeline: it computes its own micro-batches, and waits where the stage sends.
template <class P> StepTimeline rank_timeline(StepModel<P> const& model, StepTimeline const& stage, int rank) {
  StepTimeline out{.sums = stage.sums};
  double at = 0;
  auto const add = [&](StepSpan s, double end) {
    s.begin = std::exchange(at, end);
    s.end = end;
    if (s.end > s.begin) out.work.push_back(s);
  };
  auto const computes = [](StepSpan const& s) { return s.what == Activity::Forward || s.what == Activity::Backward; };
  for (StepSpan const& s : stage.work) {
    if (!computes(s) && at < s.begin) add({Activity::WaitForRanks, s.line, s.round}, s.begin);
    double const own = computes(s) ? model.computing(s.line, model.slices(s.line, rank, s.round)) : s.length();
    bool const as_stage = at == s.begin && (!computes(s) || own == model.time(s.line));
    add(s, as_stage ? s.end : at + own);
  }
  double const end = stage.work.empty() ? 0 : stage.work.back().end;
  if (at < end) add({Activity::WaitForRanks, -1, StepModel<P>::rounds - 1}, end);
  return out;
}

/// Of all ranks that sum together, in a step at these speeds.
template <class P> std::vector<StepTimeline> timelines(Speeds const& speed, int replicas) {
  StepModel<P> const model(speed, replicas);
  std::vector<StepTimeline> const stages = stage_timelines<P>(model);
  std::vector<StepTimeline> out;
  for (int r = 0; r < model.ranks().world(); ++r)
    out.push_back(rank_timeline<P>(model, stages[static_cast<std::size_t>(model.ranks().stage(r))], r));
  return out;
}

/// What the ways of a replica send to its server with a gradient.
template <class P> constexpr long pushed_bytes_of() {
  long sum = 0;
  for (int way = 0; way < P::ways; ++way) {
    schedule::Traffic const t = schedule::traffic(schedule::program<P>, P::request_of(1), P::ranks_of(1), way);
    sum += t.bytes[static_cast<int>(op::Verb::Push)];
  }
  return sum;
}
/// Of plan P with replicas that do not wait for each other: they share its server. A gradient is what is between two
/// pushes; the server gets it and sends weights, as often as they are fetched.
template <class P> constexpr Saturation served_by(Speeds const& speed) {
  schedule::Program const& p = schedule::program<P>;
  double const pushes = P::agreed::pace.push, fetches = pushes / P::agreed::pace.fetch;
  double const bytes = static_cast<double>(pushed_bytes_of<P>()) +
                       fetches * static_cast<double>(p.weight_elements * P::format.pushed) * P::ways;
  return {pushes * step_at<P>(speed, 1).total, bytes * speed.ns_of_byte / P::shards};
}
/// Samples a second that this many replicas make: by their step or, if they do not wait for each other, as served_by
/// says. 0 if they wait for each other at a server, which is not modelled.
template <class P> constexpr double samples_a_second(Speeds const& speed, int replicas) {
  if constexpr (!P::served) {
    return P::batch / step_at<P>(speed, replicas).total * 1e9;
  } else if constexpr (!P::agreed::waits) {
    return served_by<P>(speed).throughput(replicas) * P::agreed::pace.push * P::batch * 1e9;
  } else {
    return 0;
  }
}

}  // namespace cleave::sim
