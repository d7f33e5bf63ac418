// sim/spans.hpp - a plan's modelled step as spans of time: what the ranks of each stage do, and what they wait for.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string_view>
#include <type_traits>

#include "../schedule/volume.hpp"
#include "machine.hpp"

namespace cleave::sim {

/// What a span is spent on. `Sum`: on the link, beside the others; WaitForSums: for the gradients of other ranks;
/// WaitForStage: for another stage of a pipeline, also at the end of a step; WaitForRanks: of a rank with fewer
/// micro-batches, for those with more.
enum class Activity : unsigned char {
  Forward,
  Backward,
  Convert,
  Sum,
  Norm,
  Update,
  WaitForSums,
  WaitForStage,
  WaitForRanks
};
constexpr bool waits(Activity a) { return a >= Activity::WaitForSums; }
constexpr std::string_view name(Activity a) {
  constexpr std::string_view names[] = {"forward", "backward",      "convert",        "sum",           "norm",
                                        "update",  "wait for sums", "wait for stage", "wait for ranks"};
  return names[static_cast<int>(a)];
}

/// In nanoseconds from the beginning of the step. `line`: of the schedule; -1: none.
struct StepSpan {
  Activity what = Activity::Forward;
  int line = -1, round = 0;
  double begin = 0, end = 0;
  constexpr double length() const { return end - begin; }
};

/// A message of a rank, in its rounds. Stages are as far from each other as replicas.
template <class P> constexpr double sending(Speeds const& m, schedule::Message const& sent, schedule::Ranks ranks) {
  double rounds = sent.ranks > 1 ? 2 : 0;
  if constexpr (!std::is_void_v<typename P::route>) {
    if (sent.routed) rounds = P::route::rounds(sent.elements, schedule::group(sent.over, ranks, P::format.data));
  }
  if (sent.verb == op::Verb::Send) rounds = 1;
  bool const between = sent.over.has(place::data_axis) || ranks.ways() == 1 || sent.verb == op::Verb::Send;
  return rounds * m.latency(between) +
         static_cast<double>(sent.bytes + sent.most_bytes) / sent.times * m.of_byte(between);
}

/// What each line of plan P's schedule is and takes, each time it runs, on the rank of a stage that has most
/// micro-batches. Messages are those of the stage's first rank.
template <class P> class StepModel {
  static constexpr int lines_ = P::schedule.steps;

 public:
  static constexpr int stages = P::request.mesh.stages, rounds = P::request.rounds;

  constexpr StepModel(Speeds const& speed, int replicas)
      : speed_(speed),
        request_(P::request_of(replicas)),
        ranks_(P::ranks_of(replicas)),
        share_(schedule::shared(request_, ranks_)) {
    for (int k = 0; k < lines_; ++k) set(k);
  }
  constexpr Activity what(int line) const { return what_[line]; }
  constexpr double time(int line) const { return time_[line]; }
  constexpr schedule::Share const& share() const { return share_; }
  constexpr place::Request const& request() const { return request_; }
  constexpr schedule::Ranks const& ranks() const { return ranks_; }

  /// Of a line that computes, for so many micro-batches.
  constexpr double computing(int line, int slices) const {
    schedule::Step const s = P::schedule.step[line];
    if (s.node < 0 || slices == 0) return 0;
    place::Node const& n = P::placed.node[s.node];
    double const samples = static_cast<double>(slices) * request_.rows;
    if (s.what == schedule::Do::Add)  // reads two tensors, and writes one
      return speed_.start_ns + speed_.memory(3 * samples * static_cast<double>(n.local.y.size()) * P::format.data);
    bool const of_weights = s.what == schedule::Do::BackwardWeight;
    auto const time = [&](place::Node const& of) {
      return time_of(speed_, P::signatures.op[of.op], of.local, samples, P::format.data, of_weights ? slices : 1);
    };
    int const reader = of_weights ? P::placed_model.tied(s.node) : -1;  // whose gradient of the same weight is here too
    return time(n) + (reader < 0 ? 0 : time(P::placed.node[reader]));
  }
  /// The micro-batches of a rank in a round of a line that computes.
  constexpr int slices(int line, int rank, int round) const {
    int const node = P::schedule.step[line].node;
    return node < 0 ? 0 : share_.part(P::placed.node[node].batch_axes, rank, round).size();
  }

 private:
  constexpr void set(int k) {
    using enum schedule::Do;
    schedule::Step const s = P::schedule.step[k];
    schedule::Program const& p = schedule::program<P>;
    int const sender = schedule::sender_of(p, s), part = sender < 0 ? schedule::part_of(p, s) : sender;
    int const rank = part < 0 ? 0 : p.pipeline.stage(part) * ranks_.ranks_of_stage();
    schedule::Message const m = schedule::message(s, p, request_, ranks_, rank);
    bool const back = k >= P::schedule.forward_steps;
    if (s.what == Start || s.what == Norm) {
      what_[k] = s.what == Start ? Activity::Sum : Activity::Norm;
      time_[k] = sending<P>(speed_, m, ranks_);
    } else if (s.what == Keep) {  // waits
      what_[k] = Activity::Update;
    } else if (s.what == Update) {  // reads gradients; reads and writes weights and the optimizer's tensors
      double const numbers = static_cast<double>(P::schedule.bucket[s.node].count) * (3 + 2 * P::format.moments);
      what_[k] = Activity::Update;
      time_[k] = speed_.memory(numbers * P::format.sum);
    } else if (m.verb != op::Verb::None) {
      what_[k] = Activity::Convert;
      time_[k] = sending<P>(speed_, m, ranks_);
    } else {
      what_[k] = back ? Activity::Backward : Activity::Forward;
      bool const computes = s.node >= 0 && !schedule::is_of_bucket(s.what) && P::placed.node[s.node].op >= 0;
      time_[k] = computes ? computing(k, share_.most(P::placed.node[s.node].batch_axes)) : 0;
    }
  }

  Speeds speed_;
  place::Request request_;
  schedule::Ranks ranks_;
  schedule::Share share_;
  Activity what_[lines_ + 1]{};
  double time_[lines_ + 1]{};
};

/// Runs a modelled step: every stage runs its lines one after the other, in a pipeline in the order of its tasks; a
/// message between stages takes the time of its reader, which waits until it is made; a sum of gradients starts when
/// these are complete and the link is free. Calls visit(stage, StepSpan) in the order of time of each stage and lane;
/// spans of lines may be empty.
template <class P, class Visit> class StepRun {
  using Model = StepModel<P>;
  static constexpr int stages_ = Model::stages, rounds_ = Model::rounds, parts_ = P::pipeline.parts();
  static constexpr schedule::Program const& program() { return schedule::program<P>; }

 public:
  constexpr StepRun(Model const& model, Visit& visit) : model_(model), visit_(visit) {}

  /// The length of the step.
  constexpr double operator()() {
    if constexpr (stages_ > 1) {
      tasks();
    } else {
      for (int round = 0; round < rounds_; ++round) lines(0, 0, P::schedule.steps, {0, round, false});
    }
    if (stages_ > 1 && program().waits_for_norm) end_of_step();
    double const end = latest();
    for (int s = 0; s < stages_; ++s) wait(s, Activity::WaitForStage, -1, rounds_ - 1, end);
    return end;
  }

 private:
  constexpr double latest() const {
    double end = 0;
    for (double const at : clock_) end = at > end ? at : end;
    return end;
  }
  constexpr void spend(int stage, Activity what, int line, int round, double time) {
    visit_(stage, StepSpan{what, line, round, clock_[stage], clock_[stage] + time});
    clock_[stage] += time;
  }
  constexpr void wait(int stage, Activity what, int line, int round, double until) {
    if (until > clock_[stage]) {
      visit_(stage, StepSpan{what, line, round, clock_[stage], until});
      clock_[stage] = until;
    }
  }
  constexpr void line(int stage, int k, int round) {
    using enum schedule::Do;
    schedule::Step const s = P::schedule.step[k];
    double const time = model_.time(k);
    if (s.what == Start) {
      double const begin = free_[stage] > clock_[stage] ? free_[stage] : clock_[stage];
      free_[stage] = arrives_[s.node] = begin + time;
      return visit_(stage, StepSpan{Activity::Sum, k, round, begin, begin + time});
    }
    if (s.what == Update || s.what == Keep || s.what == Norm)  // a norm waits for all messages
      wait(stage, Activity::WaitForSums, k, round, s.what == Norm ? free_[stage] : arrives_[s.node]);
    if (schedule::sender_of(program(), s) >= 0) wait(stage, Activity::WaitForStage, k, round, offered_[k][round]);
    spend(stage, model_.what(k), k, round, time);
  }
  /// Those of a task of a stage.
  constexpr void lines(int stage, int begin, int end, schedule::PipelineTask t) {
    for (int k = begin; k < end; ++k) {
      schedule::Step const s = P::schedule.step[k];
      if (stages_ > 1 && schedule::sender_of(program(), s) == t.part) offered_[k][t.micro_batch] = clock_[stage];
      if (schedule::once_a_step(s.what, model_.share().sums_rounds) && t.micro_batch != rounds_ - 1) continue;
      bool const later = program().waits_for_norm && s.what == schedule::Do::Update;
      if (stages_ > 1 && (later || schedule::part_of(program(), s) != t.part)) continue;
      line(stage, k, t.micro_batch);
    }
  }
  constexpr void tasks() {
    int next[stages_]{};
    for (bool moves = true; moves;) {
      moves = false;
      for (int s = 0; s < stages_; ++s) {
        for (; next[s] < P::pipeline.tasks(); ++next[s]) {
          schedule::PipelineTask const t = P::pipeline_tables.tasks.of[s][next[s]];
          int const from = t.back ? t.part + 1 : t.part - 1;
          if (from >= 0 && from < parts_ && !ended_[t.back][from][t.micro_batch]) break;
          lines(s, t.back ? P::schedule.forward_steps : 0, t.back ? P::schedule.steps : P::schedule.forward_steps, t);
          ended_[t.back][t.part][t.micro_batch] = true;
          moves = true;
        }
      }
    }
  }
  /// The norm of the gradients of all stages, and the updates that wait for it.
  constexpr void end_of_step() {
    for (int s = 0; s < stages_; ++s) wait(s, Activity::WaitForSums, -1, rounds_ - 1, free_[s]);
    double const all = latest();
    for (int s = 0; s < stages_; ++s) {
      wait(s, Activity::WaitForStage, -1, rounds_ - 1, all);
      for (int k = 0; k < P::schedule.steps; ++k) {
        int const part = schedule::part_of(program(), P::schedule.step[k]);
        bool const here = part < 0 || program().pipeline.stage(part) == s;
        Activity const what = model_.what(k);
        if (here && (what == Activity::Norm || what == Activity::Update)) line(s, k, rounds_ - 1);
      }
    }
  }

  Model const& model_;
  Visit& visit_;
  double clock_[stages_]{}, free_[stages_]{}, arrives_[P::schedule.buckets + 1]{};
  // Of a pipeline: when what a line brings to another stage is made in each round; and which tasks have ended, forward
  // and back.
  double offered_[stages_ > 1 ? P::schedule.steps : 1][rounds_]{};
  bool ended_[2][parts_][rounds_]{};
};

/// The length of a step; visit(stage, StepSpan) is called for its spans.
template <class P, class Visit> constexpr double each_span(StepModel<P> const& model, Visit visit) {
  return StepRun<P, Visit>(model, visit)();
}

}  // namespace cleave::sim
