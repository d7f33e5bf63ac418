// backend/gpu/fleet.hpp - the ranks of a plan on one device: arenas, streams, and a training step captured as one graph.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "../host/prepare.hpp"
#include "../host/start.hpp"
#include "columns.hpp"
#include "converter.hpp"
#include "convolve.hpp"
#include "product.hpp"
#include "update.hpp"

namespace cleave::backend::gpu {

/// What a schedule is prepared for here; see host::Host.
template <class Machine> struct Device {
  using Context = Queue<Machine>;
  template <class Op> struct Kernel {
    template <op::Local L, bool WithBias, class Map, class T> static void forward(Context q, op::Operands<T> const& t) {
      gpu::Kernel<Op>::template forward<L, WithBias, Map>(q, t);
    }
    template <op::Local L, class T> static void backward_input(Context q, op::Operands<T> const& t) {
      gpu::Kernel<Op>::template backward_input<L>(q, t);
    }
    template <op::Local L, class T> static void backward_weight(Context q, op::Operands<T> const& t) {
      gpu::Kernel<Op>::template backward_weight<L>(q, t);
    }
  };
  static constexpr bool updates_in_gradients = false;
  template <class Loss> static constexpr bool loss_with_gradient = requires {
    requires gpu::Kernel<Loss>::loss_with_gradient;
  };
};

/// Ranks as streams of one device. They compute on a stream each and sum gradients on another behind it; events stand
/// where threads would wait for each other. A pass is captured once for each of two inboxes, so that the next batch is
/// copied while this one is worked on; a step allocates nothing and waits for nobody.
template <class P, class Machine> class Fleet {
 public:
  using T = typename P::number;
  using A = tensor::accumulate_t<T>;
  using On = Device<Machine>;
  using Layout = schedule::Layout<P::ops::size>;
  using Action = host::Action<T, On>;
  using Stream = typename Machine::Stream;
  using Event = typename Machine::Event;
  static constexpr bool narrow = sizeof(T) < sizeof(A);
  static constexpr int rounds = P::request.rounds, inboxes = 2;

  Fleet(Machine& machine, schedule::Ranks ranks, std::uint64_t seed)
      : machine_(machine),
        share_(P::share(ranks)),
        layout_(schedule::layout(P::schedule, P::request, P::format, ranks)),
        world_(ranks, P::schedule.steps),
        base_(machine.stream()),
        incoming_(machine.stream()),
        seed_(seed) {
    lay_out_inbox();
    control_ = reinterpret_cast<Control<A>*>(machine_.allocate(sizeof(Control<A>)));
    for (int b = 0; b < inboxes; ++b) {
      arrived_[b] = machine_.event();
      done_[b] = machine_.event();
      inbox_[b] = machine_.allocate(inbox_bytes_);
      mail_[b] = machine_.allocate_pinned(inbox_bytes_);
      told_[b] = reinterpret_cast<A*>(machine_.allocate_pinned(losses_of_rank() * ranks.world()));
    }
    outputs_ = machine_.allocate_pinned(output_bytes() * rounds * ranks.world());
    one_.resize(static_cast<std::size_t>(ranks.world()));
    for (int r = 0; r < ranks.world(); ++r) {
      One& one = at(r);
      one.m.world = &world_;
      one.m.rank = r;
      one.m.received.assign(one_.size(), 0);
      one.m.received_bytes = one.m.received;
      one.arena = machine_.allocate(layout_.memory.total);
      world_.arena(r) = one.arena;
      one.compute = {&machine_, machine_.stream(), one.arena + layout_.workspace};
      one.sums = {&machine_, machine_.stream(), nullptr};
    }
    for (int r = 0; r < ranks.world(); ++r) {
      One& one = at(r);
      op::Pass const* const pass = &control_->pass;
      one.train = host::Prepare<P, On>(one.m, share_, layout_, one.arena, pass).training();
      one.evaluate = host::Prepare<P, On>(one.m, share_, layout_, one.arena, pass).evaluation();
      start(one);
    }
    for (host::Axis a : {host::Axis::Data, host::Axis::World}) {
      sums_[a == host::Axis::World] = host::reduction(at(0).m, a, share_, P::format.ordered, false);
      gradients_[a == host::Axis::World] =
          host::reduction(at(0).m, a, share_, P::format.ordered, narrow && P::format.ordered);
    }
    for (int b = 0; b < inboxes; ++b) {
      training_[b] = captured(b, true);
      count_received(&One::in_step);
      evaluating_[b] = captured(b, false);
      count_received(&One::in_pass);
    }
  }
  Fleet(Fleet const&) = delete;
  Fleet& operator=(Fleet const&) = delete;

  /// Puts a step on its way. `now.steps` counts from 1.
  void train(long step, host::Feed const& feed, optim::Now<A> const& now) {
    int const b = post(step, feed, now, true);
    machine_.run(training_[b], base_);
    machine_.record(done_[b], base_);
    ++steps_;
  }
  /// The last step's graph once more, on the samples that are there: for measuring.
  void again() { machine_.run(training_[(passes_ - 1) % inboxes], base_); }
  Stream stream() const { return base_; }
  /// Of the last or last but one step: calls told(micro-batch, sum of its samples' losses).
  template <class Told> void each_loss(int back, Told told) {
    int const b = static_cast<int>((passes_ - 1 - back) % inboxes);
    machine_.finish(done_[b]);
    for (int r = 0; r < world_.ranks().world(); ++r) {
      host::Member const& m = at(r).m;
      if (m.way() != 0 && !last().rows_cut) continue;
      for (int round = 0; round < rounds; ++round) {
        schedule::Range const of = told_in(m, round);
        for (int s = of.begin; s < of.end; ++s) {
          told(s,
               told_[b][r * losses_of_rank() / static_cast<long>(sizeof(A)) + s - share_.replica(m.replica()).begin]);
        }
      }
    }
  }
  host::Seen evaluate(long batch, host::Feed const& feed, long valid) {
    int const b = post(batch, feed, {}, false);
    machine_.run(evaluating_[b], base_);
    machine_.record(done_[b], base_);
    machine_.finish(done_[b]);
    host::Seen seen;
    for (int r = 0; r < world_.ranks().world(); ++r) count(at(r).m, b, valid, seen);
    return seen;
  }

  /// Elements of a rank's region, out of and into the device; waits.
  void read(int rank, long offset, void* to, long bytes) {
    machine_.finish();
    machine_.copy(base_, bounce(bytes), at(rank).arena + offset, bytes);
    machine_.finish();
    std::memcpy(to, bounce_, static_cast<std::size_t>(bytes));
  }
  void write(int rank, long offset, void const* from, long bytes) {
    machine_.finish();
    std::memcpy(bounce(bytes), from, static_cast<std::size_t>(bytes));
    machine_.copy(base_, at(rank).arena + offset, bounce_, bytes);
    machine_.finish();
  }
  void refresh_copies() {
    if constexpr (narrow) {
      for (One& one : one_) put_copies(one);
      machine_.finish();
    }
  }
  Layout const& layout() const { return layout_; }
  host::World& world() { return world_; }
  host::World const& world() const { return world_; }
  host::Member const& member(int rank) const { return one_[static_cast<std::size_t>(rank)].m; }
  long steps() const { return steps_; }
  /// Elements, or bytes, that a rank has sent: what the others read from it, as the captured passes say, run so often.
  long sent(int rank) const { return total(rank, &host::Member::received); }
  long sent_bytes(int rank) const { return total(rank, &host::Member::received_bytes); }

 private:
  struct One {
    host::Member m;
    std::byte* arena = nullptr;
    Queue<Machine> compute, sums;
    std::vector<std::vector<Action>> train, evaluate;
    std::vector<long> pixels, labels;  // where each round's lie in an inbox
    host::Member in_step, in_pass;     // as m, after one training step, one evaluation: what each reads
  };
  One& at(int r) { return one_[static_cast<std::size_t>(r)]; }
  static constexpr place::Node const& last() { return P::placed.node[P::placed.count - 1]; }
  template <class E> E* in_arena(int r, long offset) { return reinterpret_cast<E*>(at(r).arena + offset); }
  long losses_of_rank() const {
    return long{schedule::most_slices(P::micro_batches, world_.ranks().data)} * static_cast<long>(sizeof(A));
  }
  schedule::Range told_in(host::Member const& m, int round) const { return m.slices(share_, last().rows_cut, round); }
  static constexpr bool input_cut = P::placed.input == place::shard(place::batch);
  static constexpr long input_size = P::Net::input::shape.size();

  // --- inboxes: a control block, then every rank's pixels (f32) and labels, round by round --------------------------
  void lay_out_inbox() {
    long at_byte = schedule::aligned(sizeof(Control<A>));
    one_.resize(static_cast<std::size_t>(world_.ranks().world()));
    for (int r = 0; r < world_.ranks().world(); ++r) {
      host::Member m;
      m.world = &world_;
      m.rank = r;
      for (int round = 0; round < rounds; ++round) {
        at(r).pixels.push_back(at_byte);
        at_byte +=
            schedule::aligned(long{m.slices(share_, input_cut, round).size()} * P::request.rows * input_size * 4);
        at(r).labels.push_back(at_byte);
        at_byte += schedule::aligned(long{told_in(m, round).size()} * P::request.rows * 4);
      }
    }
    inbox_bytes_ = at_byte;
  }
  int post(long step, host::Feed const& feed, optim::Now<A> const& now, bool training) {
    int const b = static_cast<int>(passes_++ % inboxes);
    if (passes_ > inboxes) machine_.finish(done_[b]);
    Control<A> const control{{seed_, static_cast<std::uint32_t>(step), training}, now};
    std::memcpy(mail_[b], &control, sizeof control);
    for (int r = 0; r < world_.ranks().world(); ++r) {
      One& one = at(r);
      for (int round = 0; round < rounds; ++round) {
        long const rows = P::request.rows, before = share_.first * rows;
        auto const i = static_cast<std::size_t>(round);
        schedule::Range const mine = one.m.slices(share_, input_cut, round), told = told_in(one.m, round);
        feed.pixels(feed.self, step, before + mine.begin * rows, static_cast<int>(mine.size() * rows),
                    reinterpret_cast<float*>(mail_[b] + one.pixels[i]));
        feed.labels(feed.self, step, before + told.begin * rows, static_cast<int>(told.size() * rows),
                    reinterpret_cast<int*>(mail_[b] + one.labels[i]));
      }
    }
    machine_.copy(incoming_, inbox_[b], mail_[b], inbox_bytes_);
    machine_.record(arrived_[b], incoming_);
    machine_.wait(base_, arrived_[b]);
    return b;
  }

  // --- weights ------------------------------------------------------------------------------------------------------
  void start(One& one) {
    std::vector<std::byte> image(static_cast<std::size_t>(layout_.memory.total), std::byte{0});
    host::start<P>(seed_, one.m.way(), reinterpret_cast<A*>(image.data() + layout_.weights),
                   reinterpret_cast<A*>(image.data() + layout_.states));
    write(one.m.rank, 0, image.data(), layout_.memory.total);
    if constexpr (narrow) {
      put_copies(one);
      machine_.finish();
    }
  }
  void put_copies(One& one) {
    long const n = P::schedule.weight_elements;
    copy_lines(one.compute, in_arena<T>(one.m.rank, layout_.copies), in_arena<A const>(one.m.rank, layout_.weights), 1,
               n, n, n);
  }
  std::byte* bounce(long bytes) {
    if (bytes > bounce_bytes_) bounce_ = machine_.allocate_pinned(bounce_bytes_ = bytes);
    return bounce_;
  }

  // --- capture ------------------------------------------------------------------------------------------------------
  typename Machine::Graph captured(int b, bool training) {
    machine_.begin(base_);
    machine_.copy(base_, control_, inbox_[b], sizeof(Control<A>));
    Event const began = machine_.event();
    machine_.record(began, base_);
    for (One& one : one_) machine_.wait(one.compute.stream, began);
    for (int round = 0; round < rounds; ++round) {
      for (One& one : one_) load(one, b, round);
      lock_step(round, training);
      if (training) continue;
      for (One& one : one_) {
        machine_.copy(one.compute.stream, output(one.m.rank, round),
                      one.arena + layout_.buffer[P::schedule.value[P::placed.last]], output_bytes());
      }
    }
    for (One& one : one_) {
      int const r = one.m.rank;
      if (training) {
        machine_.copy(one.compute.stream, reinterpret_cast<std::byte*>(told_[b]) + r * losses_of_rank(),
                      one.arena + layout_.losses, losses_of_rank());
      }
      Event const ended = machine_.event();
      machine_.record(ended, one.compute.stream);
      machine_.wait(base_, ended);
    }
    return machine_.end();
  }
  void load(One& one, int b, int round) {
    auto const i = static_cast<std::size_t>(round);
    long const n = long{one.m.slices(share_, input_cut, round).size()} * P::request.rows * input_size;
    long const labels = long{told_in(one.m, round).size()} * P::request.rows;
    int const r = one.m.rank;
    copy_lines(one.compute, in_arena<T>(r, layout_.buffer[P::schedule.input_value]),
               reinterpret_cast<float const*>(inbox_[b] + one.pixels[i]), 1, n, n, n);
    copy_lines(one.compute, in_arena<int>(r, layout_.labels), reinterpret_cast<int const*>(inbox_[b] + one.labels[i]),
               1, labels, labels, labels);
  }
  static bool meets(host::Act a) {
    using enum host::Act;
    return a == Convert || a == Sum || a == Start || a == Update;
  }
  /// All ranks run the same lines. Each goes on alone to the next line on which they meet; that one is put for all.
  void lock_step(int round, bool training) {
    std::vector<std::size_t> next(one_.size(), 0);
    for (;;) {
      Action const* together = nullptr;
      for (std::size_t r = 0; r < one_.size(); ++r) {
        auto const& all = (training ? one_[r].train : one_[r].evaluate)[static_cast<std::size_t>(round)];
        while (next[r] < all.size() && !meets(all[next[r]].act)) alone(one_[r], all[next[r]++]);
        if (next[r] < all.size()) {
          actions_.resize(one_.size());
          actions_[r] = together = &all[next[r]++];
        }
      }
      if (!together) return;
      switch (together->act) {
        case host::Act::Convert:
          convert(together->step, round);
          break;
        case host::Act::Sum:
          sum();
          break;
        case host::Act::Start:
          reduce(together->bucket);
          break;
        default:
          update(together->bucket);
      }
    }
  }
  void alone(One& one, Action const& a) {
    Queue<Machine> const& q = one.compute;
    switch (a.act) {
      case host::Act::Kernel:
        return a.call(q, a.t);
      case host::Act::Merge:
        return a.rounded ? q.template launch<AddTo<T, true>>(blocks_each(a.n), {a.to, a.from, a.n})
                         : q.template launch<AddTo<T, false>>(blocks_each(a.n), {a.to, a.from, a.n});
      case host::Act::Round:
        return q.template launch<AddTo<T, true>>(blocks_each(a.n), {a.to, nullptr, a.n});
      case host::Act::Add:
        return q.template launch<AddValues<T>>(blocks_each(a.n), {a.add_to, a.add_from, a.n});
      default:
        return;  // Reclaim: the pass before has ended, everywhere
    }
  }

  /// Every rank of the group waits for what every other has put so far.
  void meet(host::Axis axis, Queue<Machine> One::*from, Queue<Machine> One::*to) {
    std::vector<Event> reached;
    for (One& one : one_) {
      reached.push_back(machine_.event());
      machine_.record(reached.back(), (one.*from).stream);
    }
    for (One& one : one_) {
      for (int i = 0; i < one.m.size(axis); ++i) {
        int const peer = one.m.peer(axis, i);
        if (peer != one.m.rank || from != to) machine_.wait((one.*to).stream, reached[static_cast<std::size_t>(peer)]);
      }
    }
  }
  void meet(host::Axis axis) { meet(axis, &One::compute, &One::compute); }

  void convert(int step, int round) {
    schedule::Step const s = P::schedule.step[step];
    place::Node const& n = P::placed.node[s.node];
    bool const forward = s.what == schedule::Do::Convert;
    int const from = !forward    ? P::schedule.gradient[s.node]
                     : n.in0 < 0 ? P::schedule.input_value
                                 : P::schedule.value[n.in0];
    op::Verb const verb = forward ? n.conversion.forward : n.conversion.backward;
    bool const from_rows = forward ? n.from_rows : n.rows_cut, to_rows = forward ? n.rows_cut : n.from_rows;
    if (verb != op::Verb::Slice) meet(host::Axis::Model);
    for (int phase = 0; phase < Converter<T, Machine>::phases(verb); ++phase) {
      if (phase > 0) meet(host::Axis::Model);
      for (One& one : one_) {
        schedule::Range const own = one.m.slices(share_, false, round);
        host::Value v{n.whole.size(), long{own.size()} * P::request.rows, {0}};
        for (int w = 0; w < P::ways; ++w) {
          v.row.push_back(long{share_.part(one.m.replica() * P::ways + w, round).end - own.begin} * P::request.rows);
        }
        Converter<T, Machine>(one.m, one.compute, v, layout_.buffer[from], layout_.buffer[s.dx])
            .put(verb, from_rows, to_rows, phase);
      }
    }
    if (verb != op::Verb::Slice) meet(host::Axis::Model);
  }

  /// The model's own sums (BatchNorm's), whole on every rank.
  void sum() {
    bool const world = P::placed.node[P::schedule.step[actions_[0]->step].node].rows_cut;
    host::Axis const axis = world ? host::Axis::World : host::Axis::Data;
    meet(axis);
    for (One& one : one_) {
      Action const& a = *actions_[static_cast<std::size_t>(one.m.rank)];
      put_sum<A, false>(one, one.compute, axis, sums_[world], byte_of(one, a.from),
                        P::schedule.most_sum_leaf * static_cast<long>(sizeof(A)), byte_of(one, a.to), a.n);
    }
    meet(axis);
    for (One& one : one_) {
      Action const& a = *actions_[static_cast<std::size_t>(one.m.rank)];
      for (int i = 0; i < one.m.size(axis); ++i) {
        int const peer = one.m.peer(axis, i);
        long const begin = op::part_begin(a.n, i, one.m.size(axis)), count = op::part_size(a.n, i, one.m.size(axis));
        if (peer == one.m.rank || count == 0) continue;
        one.m.read_from(peer, count, sizeof(A));
        copy_lines(one.compute, a.to + begin, in_arena<A const>(peer, byte_of(one, a.to)) + begin, 1, count, count,
                   count);
      }
    }
    meet(axis);
  }
  static long byte_of(One const& one, A const* p) { return reinterpret_cast<std::byte const*>(p) - one.arena; }

  /// This rank's part of a sum over the group: branches at `branches`, `stride` bytes apart; W is their format.
  template <class W, bool Rounded>
  void put_sum(One& one, Queue<Machine> const& q, host::Axis axis, host::Reduction const& how, long branches,
               long stride, long result, long n) {
    int const mine = one.m.index(axis), size = one.m.size(axis);
    long const begin = op::part_begin(n, mine, size), count = op::part_size(n, mine, size);
    typename SumLeaves<T, W, Rounded>::Args args{in_arena<W>(one.m.rank, result) + begin, count, 0, {}, {}};
    schedule::TreeSum tree{how.micro_batches};
    int most = 0;
    for (host::Leaf const& leaf : how.leaves) {
      // `how` was drawn for rank 0; another rank of the axis has the same, among its own peers.
      int const peer = axis == host::Axis::World ? leaf.rank : one.m.peer(axis, at(leaf.rank).m.index(axis));
      if (args.leaves == most_sources) throw Error(limit("branches", most_sources));
      one.m.read_from(peer, count, sizeof(W));
      args.from[args.leaves] = in_arena<W>(peer, branches + leaf.branch * stride) + begin;
      signed char merges = 0;
      if (how.ordered) {
        tree.push(leaf.of, [&](int, int) { ++merges; });
      } else {
        merges = args.leaves > 0;
      }
      args.merges[args.leaves++] = merges;
      most = tree.deepest > most ? tree.deepest : most;
    }
    if (most > SumLeaves<T, W, Rounded>::most_depth) throw Error(limit("levels", SumLeaves<T, W, Rounded>::most_depth));
    if (count > 0) q.template launch<SumLeaves<T, W, Rounded>>(blocks_each(count), args);
  }
  static std::string limit(char const* what, int most) {
    return "the ordered sum over these ranks has more than " + std::to_string(most) + " " + what +
           " on a device; run fewer ranks, or say fewer MicroBatches";
  }

  using Wire = std::conditional_t<narrow, T, A>;
  static host::Axis axis_of(int bucket) {
    return P::schedule.bucket[bucket].world ? host::Axis::World : host::Axis::Data;
  }
  long wire(int branch, long offset) const {
    return layout_.wire + (branch * P::schedule.weight_elements + offset) * static_cast<long>(sizeof(Wire));
  }
  void reduce(int b) {
    schedule::Bucket const& bucket = P::schedule.bucket[b];
    host::Axis const axis = axis_of(b);
    if (at(0).m.size(axis) == 1) return;
    if constexpr (narrow) {
      for (One& one : one_) {
        for (int branch = 0; branch < layout_.branches; ++branch) {
          A const* const from =
              in_arena<A>(one.m.rank, layout_.gradients) + branch * P::schedule.weight_elements + bucket.offset;
          copy_lines(one.compute, in_arena<T>(one.m.rank, wire(branch, bucket.offset)), from, 1, bucket.count,
                     bucket.count, bucket.count);
        }
      }
    }
    meet(axis, &One::compute, &One::sums);
    for (One& one : one_) {
      put_sum<Wire, narrow && P::format.ordered>(one, one.sums, axis, gradients_[bucket.world], wire(0, bucket.offset),
                                                 P::schedule.weight_elements * static_cast<long>(sizeof(Wire)),
                                                 wire(0, bucket.offset), bucket.count);
    }
  }
  /// Where a rank sums with nobody, all buckets are one: the arena is stepped by one kernel.
  void update(int b) {
    schedule::Bucket const& bucket = P::schedule.bucket[b];
    host::Axis const axis = axis_of(b);
    if (at(0).m.size(axis) == 1) {
      if (b > 0 && at(0).m.size(axis_of(b - 1)) == 1) return;  // with the one below
      int end = b;
      while (end + 1 < P::schedule.buckets && at(0).m.size(axis_of(end + 1)) == 1) ++end;
      long const count = P::schedule.bucket[end].offset + P::schedule.bucket[end].count - bucket.offset;
      for (One& one : one_) {
        put_update<A>(one, bucket.offset, count, {in_arena<A>(one.m.rank, layout_.gradients) + bucket.offset});
      }
      return;
    }
    meet(axis, &One::sums, &One::compute);
    for (One& one : one_) {
      std::vector<Wire const*> from;
      for (int i = 0; i < one.m.size(axis); ++i) {
        int const peer = one.m.peer(axis, i);
        one.m.read_from(peer, op::part_size(bucket.count, i, one.m.size(axis)), sizeof(Wire));
        from.push_back(in_arena<Wire>(peer, wire(0, bucket.offset)));
      }
      put_update<Wire>(one, bucket.offset, bucket.count, from);
    }
  }
  template <class G> void put_update(One& one, long offset, long count, std::vector<G const*> const& from) {
    using K = Update<typename P::optimizer, T, G>;
    if (from.size() > most_sources) throw Error(limit("parts", most_sources));
    typename K::Args args{in_arena<A>(one.m.rank, layout_.weights) + offset,
                          narrow ? in_arena<T>(one.m.rank, layout_.copies) + offset : nullptr,
                          in_arena<A>(one.m.rank, layout_.moments) + offset,
                          P::schedule.weight_elements,
                          count,
                          control_,
                          static_cast<int>(from.size()),
                          {}};
    for (std::size_t i = 0; i < from.size(); ++i) args.from[i] = from[i];
    one.compute.template launch<K>(blocks_each(count), args);
  }
  /// What a capture has made the ranks read; their counters begin anew.
  void count_received(host::Member One::*into) {
    for (One& one : one_) {
      one.*into = one.m;
      std::fill(one.m.received.begin(), one.m.received.end(), 0);
      one.m.received_bytes = one.m.received;
    }
  }
  long total(int rank, std::vector<long> host::Member::*what) const {
    long sum = 0;
    auto const i = static_cast<std::size_t>(rank);
    for (One const& one : one_) sum += steps_ * (one.in_step.*what)[i] + (passes_ - steps_) * (one.in_pass.*what)[i];
    return sum;
  }

  long output_bytes() const {
    return schedule::aligned(long{share_.most(P::placed.node[P::placed.last].rows_cut)} * P::request.rows *
                             P::placed.node[P::placed.last].local.y.size() * static_cast<long>(sizeof(T)));
  }
  std::byte* output(int rank, int round) const { return outputs_ + (long{rank} * rounds + round) * output_bytes(); }
  void count(host::Member const& m, int b, long valid, host::Seen& seen) {
    constexpr place::Node const& of = P::placed.node[P::placed.last];
    if (!of.rows_cut && m.way() != 0) return;
    for (int round = 0; round < rounds; ++round) {
      schedule::Range const r = m.slices(share_, of.rows_cut, round);
      std::byte const* const labels = mail_[b] + at(m.rank).labels[static_cast<std::size_t>(round)];
      host::count_correct(reinterpret_cast<T const*>(output(m.rank, round)), reinterpret_cast<int const*>(labels),
                          of.local.y.size(), r.begin * long{P::request.rows}, r.end * long{P::request.rows}, valid,
                          seen);
    }
  }

  Machine& machine_;
  schedule::Share share_;
  Layout layout_;
  host::World world_;
  Stream base_, incoming_;
  std::uint64_t seed_;
  std::vector<One> one_;
  std::vector<Action const*> actions_;
  host::Reduction sums_[2], gradients_[2];
  Control<A>* control_ = nullptr;
  std::byte *inbox_[inboxes]{}, *mail_[inboxes]{}, *outputs_ = nullptr, *bounce_ = nullptr;
  A* told_[inboxes]{};
  Event arrived_[inboxes]{}, done_[inboxes]{};
  typename Machine::Graph training_[inboxes], evaluating_[inboxes];
  long inbox_bytes_ = 0, bounce_bytes_ = 0, passes_ = 0, steps_ = 0;
};

}  // namespace cleave::backend::gpu
