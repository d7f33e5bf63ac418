// backend/gpu/execution/fleet.hpp - runs the ranks of a program that are on one device: a training step captured as one graph.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdio>
#include <limits>
#include <vector>

#include "../../host/execution/start.hpp"
#include "captured_traffic.hpp"
#include "inbox.hpp"
#include "tracer.hpp"
#include "walk.hpp"

namespace cleave::backend::gpu {

/// Ranks as streams of one device. A pass is captured once for each of two staging buffers, so that the next batch is
/// copied while this one is used. A step allocates nothing and does not block the host. N is the format of the data;
/// layers and policies of the plan come as functions.
template <class N, class Machine, class Link = AllHere> class Fleet {
 public:
  using T = N;
  using A = tensor::accumulate_t<T>;
  using Ranks = gpu::Ranks<T, Machine, Link>;
  using One = typename Ranks::One;
  using Stream = typename Machine::Stream;
  using Event = typename Machine::Event;
  static constexpr bool narrow = sizeof(T) < sizeof(A);
  static constexpr int inboxes = 2;

  /// Trains `share` of the batch, in arenas of `layout`; what this views must outlive the fleet.
  Fleet(DeviceExecutable<T, Machine, Link> const& of, Machine& machine, Link& link, schedule::Ranks ranks,
        schedule::Share const& share, schedule::LayoutView const& layout, std::uint64_t seed)
      : machine_(machine),
        ranks_(of, machine, link, ranks, share, layout),
        program_(ranks_.program),
        rounds_(program_.rounds),
        trains_(program_.steps > program_.forward_steps),
        base_(machine.stream()),
        seed_(seed),
        control_(reinterpret_cast<Control<A>*>(machine.allocate(sizeof(Control<A>)))),
        walk_(ranks_, control_) {
    Stream const incoming = machine.stream();
    for (int b = 0; b < inboxes; ++b) {
      inbox_.emplace_back(ranks_, incoming);
      done_[b] = machine_.event();
      told_[b] = reinterpret_cast<A*>(machine_.allocate_pinned(losses_of_rank() * ranks.world()));
    }
    outputs_ = machine_.allocate_pinned(output_bytes() * rounds_ * ranks.world());
    for (One& one : ranks_.all) {
      if (!one.here) continue;
      auto const prepare = [&] {
        return host::Prepare<T, Device<Machine>>(program_, of.kernels, one.m, ranks_.share, ranks_.layout, one.arena,
                                                 &control_->pass);
      };
      if (trains_) one.train = prepare().training();
      one.evaluate = prepare().evaluation();
    }
    if constexpr (with_library<Machine>) {
      if (trains_ && ranks_.library() != Library::Never) learn();
    }
    each_here([&](One& one) { start(one); });
    if constexpr (Link::remote) link.connect(machine_, base_);
    for (int b = 0; b < inboxes; ++b) {
      if (trains_) training_[b] = captured(b, true);
      in_step_.take(ranks_.all);
      evaluating_[b] = captured(b, false);
      in_pass_.take(ranks_.all);
    }
  }
  Fleet(Fleet const&) = delete;
  Fleet& operator=(Fleet const&) = delete;

  /// Enqueues a step. `now.steps` counts from 1. `own_rate`: rate of local weights whose optimizer is on a server.
  void train(long step, host::Feed const& feed, optim::Now<A> const& now, A own_rate = 0) {
    char name[32];
    std::snprintf(name, sizeof name, "step %ld", step);
    machine_.enter(name);
    int const b = post(step, feed, std::numeric_limits<long>::max(), {pass(step, true), now, own_rate});
    if (tracer_.traces()) {
      tracer_.run(machine_, base_, b, done_[b], step);
    } else {
      machine_.run(training_[b], base_);
      machine_.record(done_[b], base_);
    }
    ++steps_;
    machine_.leave();
  }
  /// Traces the next `steps` steps: they run from separate captures with timestamps between kernels, and each is waited
  /// for. Reserves room for `more` additional spans in each step.
  void trace(int steps, std::size_t more = 0) {
    std::vector<bool> here;
    for (One const& one : ranks_.all) here.push_back(one.here);
    tracer_.start(machine_, here, steps, more, [&](int b, Stamps<Machine>* stamps) {
      ranks_.stamps = stamps;
      auto graph = captured(b, true);
      ranks_.stamps = nullptr;
      CapturedTraffic().take(ranks_.all);  // traced steps are counted like others
      return graph;
    });
  }
  host::Timeline& timeline(int rank) { return tracer_.timeline(rank, ranks_.all.size()); }
  /// The timeline of each rank; null if it is in another process.
  std::vector<host::Timeline const*> timelines() const {
    std::vector<host::Timeline const*> all;
    for (One const& one : ranks_.all) all.push_back(one.here ? tracer_.find(one.m.rank) : nullptr);
    return all;
  }
  /// Runs the last step's graph once more, on the same samples: for measuring.
  void again() { machine_.run(training_[(passes_ - 1) % inboxes], base_); }
  Stream stream() const { return base_; }
  /// For the last step or the one before: calls told(micro-batch, sum of its samples' losses) for the ranks here.
  template <class Told> void each_loss(int back, Told told) {
    int const b = static_cast<int>((passes_ - 1 - back) % inboxes);
    machine_.finish(done_[b]);
    for (One const& one : ranks_.all) {
      if (!one.here || !ranks_.share.tells(last().batch_axes, one.m.rank)) continue;
      A const* const of = told_[b] + one.m.rank * losses_of_rank() / static_cast<long>(sizeof(A));
      for (int round = 0; round < rounds_; ++round) {
        schedule::Range const r = inbox_[0].told(one, round);
        for (int s = r.begin; s < r.end; ++s) told(s, of[ranks_.share.before(one.m.replica(), round, s)]);
      }
    }
  }
  /// A forward pass without a loss: calls use(rows, their outputs) for each part of the batch that a rank here has.
  template <class Use> void predict(host::Feed const& feed, Use use) {
    run_pass(0, feed, 0);
    each_output([&](One const&, int, schedule::Range rows, T const* outputs) { use(rows, outputs); });
  }
  host::Seen evaluate(long batch, host::Feed const& feed, long valid) {
    int const b = run_pass(batch, feed, valid);
    auto const& inbox = inbox_[static_cast<std::size_t>(b)];
    host::Seen seen;
    each_output([&](One const& one, int round, schedule::Range rows, T const* outputs) {
      ranks_.functions.score(outputs, inbox.answers(one, round), rows, valid, seen);
    });
    return seen;
  }

  /// Seed of dropout.
  void set_seed(std::uint64_t seed) { seed_ = seed; }
  /// Copies bytes of a local rank's arena from and to the device; waits.
  void read(int rank, long offset, void* to, long bytes) {
    machine_.finish();
    machine_.copy(base_, bounce(bytes), ranks_.at(rank).arena + offset, bytes);
    machine_.finish();
    std::memcpy(to, bounce_, static_cast<std::size_t>(bytes));
  }
  void write(int rank, long offset, void const* from, long bytes) {
    machine_.finish();
    std::memcpy(bounce(bytes), from, static_cast<std::size_t>(bytes));
    machine_.copy(base_, ranks_.at(rank).arena + offset, bounce_, bytes);
    machine_.finish();
  }
  bool here(int rank) const { return ranks_.at(rank).here; }
  /// Random numbers of a step start at this micro-batch.
  void begin_at(int micro_batch) { ranks_.share.first = micro_batch; }
  /// A local rank takes these master weights [first, first + count), or of them what it has; waits.
  void set_weights(int rank, long first, long count, A const* values) {
    schedule::OptimizerParts const parts = ranks_.parts();
    auto const& l = ranks_.layout;
    auto const put = [&]<class E>(long region, long at, E const* from, long many) {
      write(rank, region + at * static_cast<long>(sizeof(E)), from, many * static_cast<long>(sizeof(E)));
    };
    parts.each_master(rank, first, count,
                      [&](long from, long many, long at) { put(l.weights, at, values + (from - first), many); });
    if constexpr (narrow) {
      parts.each_copy(rank, first, count, [&](long from, long many, long at) {
        std::vector<T> copies;
        for (long i = 0; i < many; ++i) copies.push_back(static_cast<T>(values[from - first + i]));
        put(parts.weights_in_turn() ? l.own_weights : l.copies, at, copies.data(), many);
      });
    }
  }
  /// Elements, or bytes, that a rank has sent: what other ranks read from it, counted by captured passes times their
  /// runs.
  long sent(int rank) const { return steps_ * in_step_.sent(rank) + (passes_ - steps_) * in_pass_.sent(rank); }
  long sent_bytes(int rank) const {
    return steps_ * in_step_.sent_bytes(rank) + (passes_ - steps_) * in_pass_.sent_bytes(rank);
  }

 private:
  /// The loss.
  schedule::ProgramNode const& last() const { return program_.node[program_.nodes - 1]; }
  template <class E> E* in_arena(One const& one, long offset) const { return ranks_.template in_arena<E>(one, offset); }
  long losses_of_rank() const { return long{ranks_.share.most_of_a_replica()} * static_cast<long>(sizeof(A)); }
  op::Pass pass(long step, bool training) const {
    return {seed_, static_cast<std::uint32_t>(step), training, long{ranks_.share.first} * program_.rows};
  }
  int run_pass(long batch, host::Feed const& feed, long valid) {
    int const b = post(batch, feed, valid, {pass(batch, false), {}, 0});
    machine_.run(evaluating_[b], base_);
    machine_.record(done_[b], base_);
    machine_.finish(done_[b]);
    return b;
  }
  int post(long step, host::Feed const& feed, long valid, Control<A> const& control) {
    int const b = static_cast<int>(passes_++ % inboxes);
    if (passes_ > inboxes) machine_.finish(done_[b]);
    inbox_[static_cast<std::size_t>(b)].post(step, feed, valid, control, base_);
    return b;
  }

  void start(One& one) {
    machine_.clear(base_, one.arena, ranks_.layout.memory.total);
    std::vector<A> states(static_cast<std::size_t>(program_.state_elements));
    host::start_states(program_, states.data());
    if (!states.empty())
      write(one.m.rank, ranks_.layout.states, states.data(), static_cast<long>(states.size() * sizeof(A)));
    host::start_weights<A>(program_, seed_, one.m.way(),
                           [&](long first, long count, A const* of) { set_weights(one.m.rank, first, count, of); });
    machine_.finish();
  }
  /// Operations fused with a product are timed with it as they run in training.
  void learn() {
    Control<A> const control{pass(0, true), {}, 0};
    std::memcpy(bounce(sizeof control), &control, sizeof control);
    machine_.copy(base_, control_, bounce_, sizeof control);
    machine_.finish();
    walk_.learn();
  }
  std::byte* bounce(long bytes) {
    if (bytes > bounce_bytes_) bounce_ = machine_.allocate_pinned(bounce_bytes_ = bytes);
    return bounce_;
  }

  typename Machine::Graph captured(int b, bool training) {
    machine_.begin(base_);
    auto& inbox = inbox_[static_cast<std::size_t>(b)];
    inbox.load_control(base_, control_);
    Event const began = machine_.event();
    machine_.record(began, base_);
    each_here([&](One& one) { machine_.wait(one.compute.stream, began); });
    for (int round = 0; round < rounds_; ++round) {
      each_here([&](One& one) {
        ranks_.open(one, &One::compute, host::Did::Load, -1, round);
        inbox.load(one, round);
        ranks_.close(one, &One::compute);
      });
      walk_.put(round, training);
      if (training) continue;
      each_here([&](One& one) {
        machine_.copy(one.compute.stream, output(one.m.rank, round),
                      one.arena + ranks_.layout.buffer[program_.value[program_.last]], output_bytes());
      });
    }
    each_here([&](One& one) {
      if (training) {
        machine_.copy(one.compute.stream, reinterpret_cast<std::byte*>(told_[b]) + one.m.rank * losses_of_rank(),
                      one.arena + ranks_.layout.losses, losses_of_rank());
      }
      Event const ended = machine_.event();
      machine_.record(ended, one.compute.stream);
      machine_.wait(base_, ended);
    });
    return machine_.end();
  }
  template <class F> void each_here(F f) {
    for (One& one : ranks_.all) {
      if (one.here) f(one);
    }
  }
  long output_bytes() const {
    return schedule::aligned(long{ranks_.share.most(program_.node[program_.last].batch_axes)} * program_.rows *
                             program_.node[program_.last].local.y.size() * static_cast<long>(sizeof(T)));
  }
  std::byte* output(int rank, int round) const { return outputs_ + (long{rank} * rounds_ + round) * output_bytes(); }
  /// use(rank, round, its rows of the batch, their outputs), of the last pass.
  template <class Use> void each_output(Use use) const {
    schedule::ProgramNode const& of = program_.node[program_.last];
    for (One const& one : ranks_.all) {
      if (!one.here || !ranks_.share.tells(of.batch_axes, one.m.rank)) continue;
      for (int round = 0; round < rounds_; ++round) {
        schedule::Range const r = one.m.slices(ranks_.share, of.batch_axes, round);
        use(one, round, schedule::Range{r.begin * program_.rows, r.end * program_.rows},
            reinterpret_cast<T const*>(output(one.m.rank, round)));
      }
    }
  }

  Machine& machine_;
  Ranks ranks_;
  schedule::Program const& program_;
  int const rounds_;
  bool const trains_;  // or infers only
  Stream base_;
  std::uint64_t seed_;
  Control<A>* control_;
  Walk<T, Machine, Link> walk_;
  CapturedTraffic in_step_, in_pass_;
  std::vector<Inbox<T, Machine, Link>> inbox_;
  std::byte *outputs_ = nullptr, *bounce_ = nullptr;
  A* told_[inboxes]{};
  Event done_[inboxes]{};
  typename Machine::Graph training_[inboxes], evaluating_[inboxes];
  Tracer<Machine, inboxes> tracer_;
  long bounce_bytes_ = 0, passes_ = 0, steps_ = 0;
};

}  // namespace cleave::backend::gpu
