// schedule/pipeline.hpp - pipelines: which micro-batch each stage computes when, and the proof that such an order ends.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string_view>

namespace cleave::schedule {

/// GPipe: all micro-batches forward, then all back. OneForwardOneBackward (1F1B): a stage goes back with a micro-batch
/// as soon as it can, so that it keeps the activations of few; with several chunks this is the interleaved order.
/// Sources: Huang et al., "GPipe", NeurIPS 2019; Narayanan et al., "Efficient large-scale language model training on
/// GPU clusters using Megatron-LM", SC 2021, section 2.2.
enum class PipelineOrder : unsigned char { GPipe, OneForwardOneBackward };

inline constexpr int most_chunks = 8;

/// The layers are cut into stages * chunks parts, one after the other; stage s has the parts s, s + stages, ...
struct Pipeline {
  PipelineOrder order = PipelineOrder::OneForwardOneBackward;
  int stages = 1, micro_batches = 1, chunks = 1;

  constexpr int parts() const { return stages * chunks; }
  constexpr int tasks() const { return 2 * micro_batches * chunks; }  // of a stage
};

/// One micro-batch through one part of the layers, forward or back.
struct PipelineTask {
  int part = 0, micro_batch = 0;
  bool back = false;
  friend constexpr bool operator==(PipelineTask, PipelineTask) = default;
};

/// The k-th task of a stage.
constexpr PipelineTask pipeline_task(Pipeline const& p, int stage, int k) {
  int const each = p.micro_batches * p.chunks;
  auto const task = [&](int n, bool back) {
    bool const interleaved = p.order == PipelineOrder::OneForwardOneBackward && p.chunks > 1;
    int const chunk = interleaved ? n % p.parts() / p.stages : n / p.micro_batches;
    int const micro_batch = interleaved ? n / p.parts() * p.stages + n % p.stages : n % p.micro_batches;
    return PipelineTask{(back ? p.chunks - 1 - chunk : chunk) * p.stages + stage, micro_batch, back};
  };
  if (p.order == PipelineOrder::GPipe) return task(k % each, k >= each);
  // Forward alone until the first gradient can be there, then in turn, then back alone.
  int const later = p.stages - stage - 1, wanted = p.chunks == 1 ? later : 2 * later + (p.chunks - 1) * p.stages;
  int const alone = wanted < each ? wanted : each, turns = k - alone;
  if (turns < 0) return task(k, false);
  if (turns >= 2 * (each - alone)) return task(turns - (each - alone), true);
  return turns % 2 == 0 ? task(alone + turns / 2, false) : task(turns / 2, true);
}

/// The tasks of all stages as a table, of a pipeline's order or of one's own.
template <int Stages, int Tasks> struct PipelineTable {
  PipelineTask of[Stages][Tasks]{};
  int count[Stages]{};
  constexpr void add(int stage, PipelineTask t) { of[stage][count[stage]++] = t; }
};

/// What a stage sends after a task, and what it needs before one: the same task of a neighbouring part. In Alone a
/// stage sends, and then receives; in Together it does both at once; in Ahead it has besides asked for what the task
/// after needs.
enum class PipelineTransfers : unsigned char { Alone, Together, Ahead };

enum class PipelineFault : unsigned char {
  None,
  Lost,       // a task of a stage is missing
  Twice,      // ... is there twice
  Early,      // back before forward, or before the part that it depends on on the same stage
  Misplaced,  // ... is another stage's
  Order,      // a part takes its micro-batches in another order than from the first to the last
  Other,      // two stages exchange another task's tensor than the receiver needs
  Waits       // stages wait for each other in a circle
};
/// Where the first fault is; `peer` is the stage that is waited for.
struct PipelineVerdict {
  PipelineFault fault = PipelineFault::None;
  int stage = -1, task = -1, peer = -1;
  constexpr bool ends() const { return fault == PipelineFault::None; }
};

namespace algebra {

template <int Stages, int Tasks> struct PipelineProof {
  PipelineTable<Stages, Tasks> const& table;
  Pipeline p;
  PipelineTransfers how;
  // Of each stage: tasks that ended; whether what the last made is sent, and what the next two need is there.
  int ended[Stages]{};
  bool sent[Stages]{}, there[Stages][2]{};

  static constexpr int none = -1;
  constexpr PipelineTask const& task(int stage, int k) const { return table.of[stage][k]; }
  constexpr bool has(int stage, int k) const { return k >= 0 && k < table.count[stage]; }
  /// The part from which a task's input comes, or to which its output goes, and its stage if that is another one.
  constexpr int before(PipelineTask t) const { return t.back ? t.part + 1 : t.part - 1; }
  constexpr int after(PipelineTask t) const { return t.back ? t.part - 1 : t.part + 1; }
  constexpr int stage_of(int part, int own) const {
    return part < 0 || part >= p.parts() || part % p.stages == own ? none : part % p.stages;
  }
  constexpr int source(int stage, int k) const {
    return has(stage, k) ? stage_of(before(task(stage, k)), stage) : none;
  }
  constexpr int target(int stage, int k) const { return has(stage, k) ? stage_of(after(task(stage, k)), stage) : none; }

  /// Every micro-batch passes every part of a stage once forward, then once back.
  constexpr PipelineVerdict complete() const {
    for (int s = 0; s < p.stages; ++s) {
      bool done[2][Tasks + 1]{};  // by chunk and micro-batch
      int next[2][most_chunks]{};
      auto const at = [&](int part, int micro_batch) { return part / p.stages * p.micro_batches + micro_batch; };
      for (int k = 0; k < table.count[s]; ++k) {
        PipelineTask const t = task(s, k);
        bool const of_stage = t.part >= 0 && t.part < p.parts() && t.part % p.stages == s && t.micro_batch >= 0 &&
                              t.micro_batch < p.micro_batches;
        if (!of_stage) return {PipelineFault::Misplaced, s, k};
        bool& is = done[t.back][at(t.part, t.micro_batch)];
        if (is) return {PipelineFault::Twice, s, k};
        is = true;
        if (next[t.back][t.part / p.stages]++ != t.micro_batch) return {PipelineFault::Order, s, k};
        bool const forward = done[false][at(t.part, t.micro_batch)];
        int const from = before(t);
        bool const own = from >= 0 && from < p.parts() && from % p.stages == s;
        if (!forward || (own && !done[t.back][at(from, t.micro_batch)])) return {PipelineFault::Early, s, k};
      }
      if (table.count[s] != p.tasks()) return {PipelineFault::Lost, s, table.count[s]};
    }
    return {};
  }

  /// A stage's state after a task, or at the start.
  constexpr void open(int s) {
    sent[s] = target(s, ended[s] - 1) == none;
    there[s][0] = ended[s] > 0 ? there[s][1] : source(s, 0) == none;
    there[s][1] = source(s, ended[s] + 1) == none;
  }
  /// Whether stage s has asked for what its next task but `i` needs, and does not have it yet.
  constexpr bool asks(int s, int i) const {
    if (there[s][i]) return false;
    return i == 0 ? sent[s] || how != PipelineTransfers::Alone : how == PipelineTransfers::Ahead;
  }
  /// The receive that a message from s to `to` meets: messages between two stages arrive in the order in which they
  /// are sent.
  constexpr int met(int s, int to) const {
    for (int i = 0; i < 2; ++i) {
      if (asks(to, i) && source(to, ended[to] + i) == s) return i;
    }
    return none;
  }
  constexpr PipelineVerdict run() {
    for (int s = 0; s < p.stages; ++s) open(s);
    for (bool moves = true; moves;) {
      moves = false;
      for (int s = 0; s < p.stages; ++s) {
        int const to = target(s, ended[s] - 1);
        if (int const i = sent[s] ? none : met(s, to); i != none) {
          PipelineTask const made = task(s, ended[s] - 1), wanted = task(to, ended[to] + i);
          if (!(PipelineTask{after(made), made.micro_batch, made.back} == wanted))
            return {PipelineFault::Other, to, ended[to] + i, s};
          sent[s] = there[to][i] = moves = true;
        }
        if (sent[s] && there[s][0] && ended[s] < table.count[s]) {
          ++ended[s];
          open(s);
          moves = true;
        }
      }
    }
    for (int s = 0; s < p.stages; ++s) {
      if (!sent[s]) return {PipelineFault::Waits, s, ended[s] - 1, target(s, ended[s] - 1)};
      if (ended[s] < table.count[s]) return {PipelineFault::Waits, s, ended[s], source(s, ended[s])};
    }
    return {};
  }

  /// As threads and processes run it: what is sent stays in its place until its reader's task begins, an activation in
  /// one of its slots, a gradient in the one place for it; a task waits at its beginning for the place that it writes.
  constexpr PipelineVerdict run_in_place(bool training) const {
    constexpr int parts = Stages * most_chunks;
    int offered[2][parts]{}, read[2][parts]{}, slots[parts]{}, now[parts]{}, at[Stages]{};
    for (int s = 0; s < p.stages; ++s) {
      for (int k = 0; k < table.count[s]; ++k) {
        PipelineTask const t = task(s, k);
        now[t.part] += t.back ? -1 : 1;
        if (now[t.part] > slots[t.part]) slots[t.part] = now[t.part];
      }
    }
    auto const waits_for = [&](int s) {
      PipelineTask const t = task(s, at[s]);
      int const out = target(s, at[s]), in = source(s, at[s]), most = t.back ? 1 : slots[t.part];
      int const kept = t.micro_batch + 1 < most ? t.micro_batch + 1 : most;
      if (out != none && read[t.back][t.part] < offered[t.back][t.part] + 1 - kept) return out;
      if (in != none && offered[t.back][before(t)] <= read[t.back][before(t)]) return in;
      if (in != none) ++read[t.back][before(t)];
      if (out != none) ++offered[t.back][t.part];
      return none;
    };
    auto const skip = [&](int s) {
      while (!training && at[s] < table.count[s] && task(s, at[s]).back) ++at[s];
      return at[s] < table.count[s];
    };
    for (bool moves = true; moves;) {
      moves = false;
      for (int s = 0; s < p.stages; ++s) {
        while (skip(s) && waits_for(s) == none) {
          ++at[s];
          moves = true;
        }
      }
    }
    for (int s = 0; s < p.stages; ++s) {
      if (skip(s)) return {PipelineFault::Waits, s, at[s], waits_for(s)};
    }
    return {};
  }
};

}  // namespace algebra

/// Runs all stages under rendezvous, where a message ends when its receiver has asked for it, and nothing is buffered;
/// and as they run on threads and MPI, a training step and an evaluation.
template <int Stages, int Tasks>
constexpr PipelineVerdict pipeline_verdict(PipelineTable<Stages, Tasks> const& table, Pipeline const& p,
                                           PipelineTransfers how) {
  algebra::PipelineProof<Stages, Tasks> proof{table, p, how};
  PipelineVerdict const complete = proof.complete();
  if (!complete.ends()) return complete;
  PipelineVerdict const met = proof.run(), trained = proof.run_in_place(true);
  return !met.ends() ? met : !trained.ends() ? trained : proof.run_in_place(false);
}

/// A plan's pipeline, as executors and the layout of memory read it. Views tables, which must outlive it.
struct PipelineSchedule {
  Pipeline pipeline;
  std::string_view order;               // its name
  PipelineTask const* table = nullptr;  // (stages, tasks of a stage)
  int const* in_flight = nullptr;  // of each part: the most micro-batches whose activations its stage keeps at once

  constexpr bool is_split() const { return pipeline.stages > 1; }
  constexpr int stage(int part) const { return is_split() ? part % pipeline.stages : 0; }
  constexpr PipelineTask const& task(int stage, int k) const { return table[stage * pipeline.tasks() + k]; }
  /// Of a part's values; micro-batch m is in slot m % slots.
  constexpr int slots(int part) const { return is_split() ? in_flight[part] : 1; }
};
/// The part of a pipeline's time in which a stage waits, if all parts cost the same: (p - 1) / (v m + p - 1), by p
/// stages of v chunks and m micro-batches. Source: Narayanan et al., section 2.2.
constexpr double bubble(Pipeline const& p) { return (p.stages - 1.0) / (p.chunks * p.micro_batches + p.stages - 1.0); }

/// The tables of an order, which is a type with task(pipeline, stage, k), for PipelineSchedule.
template <Pipeline P> struct PipelineTables {
  PipelineTable<P.stages, P.tasks()> tasks{};
  int in_flight[P.parts()]{};
  template <class Order> static constexpr PipelineTables of() {
    PipelineTables out;
    int now[P.parts()]{};
    for (int s = 0; s < P.stages; ++s) {
      for (int k = 0; k < P.tasks(); ++k) {
        PipelineTask const t = Order::task(P, s, k);
        out.tasks.add(s, t);
        if (t.part < 0 || t.part >= P.parts()) continue;  // the proof tells
        now[t.part] += t.back ? -1 : 1;
        if (now[t.part] > out.in_flight[t.part]) out.in_flight[t.part] = now[t.part];
      }
    }
    return out;
  }
  constexpr PipelineSchedule view(std::string_view order) const { return {P, order, &tasks.of[0][0], in_flight}; }
};

}  // namespace cleave::schedule
