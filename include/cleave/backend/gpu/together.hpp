// backend/gpu/together.hpp - the lines on which ranks meet, put for all that are here: conversions, sums, gradients, updates.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "converter.hpp"
#include "update.hpp"

namespace cleave::backend::gpu {

/// Events stand where threads would wait for each other. Gradients are summed on a stream of their own, behind the
/// backward pass; what is sent and in which order sums are taken is what host::Gradients and host::all_reduce do.
template <class P, class Machine, class Link> class Together {
 public:
  using Ranks = gpu::Ranks<P, Machine, Link>;
  using One = typename Ranks::One;
  using T = typename P::number;
  using A = tensor::accumulate_t<T>;
  static constexpr bool narrow = sizeof(T) < sizeof(A);
  using Wire = std::conditional_t<narrow, T, A>;

  Together(Ranks& ranks, Control<A> const* control) : ranks_(ranks), control_(control) {
    for (host::Axis a : {host::Axis::Data, host::Axis::World}) {
      bool const world = a == host::Axis::World;
      sums_[world] = host::reduction(ranks.at(0).m, a, ranks.share, P::format.ordered, false);
      gradients_[world] =
          host::reduction(ranks.at(0).m, a, ranks.share, P::format.ordered, narrow && P::format.ordered);
    }
  }

  void convert(int step, int round) {
    schedule::Step const s = P::schedule.step[step];
    place::Node const& n = P::placed.node[s.node];
    bool const forward = s.what == schedule::Do::Convert;
    int const from = !forward    ? P::schedule.gradient[s.node]
                     : n.in0 < 0 ? P::schedule.input_value
                                 : P::schedule.value[n.in0];
    op::Verb const verb = forward ? n.conversion.forward : n.conversion.backward;
    bool const from_rows = forward ? n.from_rows : n.rows_cut, to_rows = forward ? n.rows_cut : n.from_rows;
    if (verb != op::Verb::Slice) ranks_.meet(host::Axis::Model);
    ranks_.open_all(&One::compute, host::Did::Line, step, round);
    for (int phase = 0; phase < Converter<Ranks>::phases(verb); ++phase) {
      if (phase > 0) ranks_.meet(host::Axis::Model);
      ranks_.phase(&One::compute, [&](One& one) {
        schedule::Range const own = one.m.slices(ranks_.share, false, round);
        host::Value v{n.whole.size(), long{own.size()} * P::request.rows, {0}};
        for (int w = 0; w < P::ways; ++w) {
          int const end = ranks_.share.part(one.m.replica() * P::ways + w, round).end;
          v.row.push_back(long{end - own.begin} * P::request.rows);
        }
        Converter<Ranks>(ranks_, one, v, ranks_.layout.buffer[from], ranks_.layout.buffer[s.dx])
            .put(verb, from_rows, to_rows, phase);
      });
    }
    ranks_.close_all(&One::compute);
    if (verb != op::Verb::Slice) ranks_.meet(host::Axis::Model);
  }

  /// The model's own sums (BatchNorm's), whole on every rank: n elements from branches at `from` to `to`.
  void sum(int step, int round, long from, long to, long n) {
    bool const world = P::placed.node[P::schedule.step[step].node].rows_cut;
    host::Axis const axis = world ? host::Axis::World : host::Axis::Data;
    ranks_.meet(axis);
    ranks_.open_all(&One::compute, host::Did::Line, step, round);
    ranks_.phase(&One::compute, [&](One& one) {
      put_sum<A, false>(one, one.compute, axis, sums_[world], from,
                        P::schedule.most_sum_leaf * static_cast<long>(sizeof(A)), to, n);
    });
    ranks_.meet(axis);
    ranks_.phase(&One::compute, [&](One& one) { gather<A>(one, one.compute, axis, to, n); });
    ranks_.close_all(&One::compute);
    ranks_.meet(axis);
  }

  /// A bucket's gradients go on their way.
  void reduce(int b, int step, int round) {
    schedule::Bucket const& bucket = P::schedule.bucket[b];
    host::Axis const axis = axis_of(b);
    if (ranks_.at(0).m.size(axis) == 1) return;
    if constexpr (narrow) {
      ranks_.open_all(&One::compute, host::Did::Line, step, round);
      for (One& one : ranks_.all) {
        for (int branch = 0; one.here && !ranks_.rehearsing() && branch < ranks_.layout.branches; ++branch) {
          A const* const from = ranks_.template in_arena<A>(one, ranks_.layout.gradients) +
                                branch * P::schedule.weight_elements + bucket.offset;
          copy_lines(one.compute, ranks_.template in_arena<T>(one, wire(branch, bucket.offset)), from, 1, bucket.count,
                     0, 0);
        }
      }
      ranks_.close_all(&One::compute);
    }
    ranks_.meet(axis, &One::compute, &One::sums);
    ranks_.open_all(&One::sums, host::Did::Reduce, step, round);
    ranks_.phase(&One::sums, [&](One& one) {
      put_sum<Wire, narrow && P::format.ordered>(one, one.sums, axis, gradients_[bucket.world], wire(0, bucket.offset),
                                                 P::schedule.weight_elements * static_cast<long>(sizeof(Wire)),
                                                 wire(0, bucket.offset), bucket.count);
    });
    // Between processes the parts are brought together here, where nobody waits for them yet: over this rank's own
    // branch, which its peers have.
    if constexpr (Link::remote) {
      ranks_.phase(&One::sums,
                   [&](One& one) { gather<Wire>(one, one.sums, axis, wire(0, bucket.offset), bucket.count); });
    }
    ranks_.close_all(&One::sums);
  }
  /// Where a rank sums with nobody, all buckets are one: the arena is stepped by one kernel.
  void update(int b, int step, int round) {
    schedule::Bucket const& bucket = P::schedule.bucket[b];
    host::Axis const axis = axis_of(b);
    auto const alone = [&](int bucket_) { return ranks_.at(0).m.size(axis_of(bucket_)) == 1; };
    if (alone(b)) {
      if (b > 0 && alone(b - 1)) return;  // with the one below
      int end = b;
      while (end + 1 < P::schedule.buckets && alone(end + 1)) ++end;
      long const count = P::schedule.bucket[end].offset + P::schedule.bucket[end].count - bucket.offset;
      ranks_.open_all(&One::compute, host::Did::Line, step, round);
      for (One& one : ranks_.all) {
        if (one.here)
          put_update<A>(one, bucket.offset, count,
                        {ranks_.template in_arena<A>(one, ranks_.layout.gradients) + bucket.offset});
      }
      ranks_.close_all(&One::compute);
      return;
    }
    ranks_.meet(axis, &One::sums, &One::compute);
    ranks_.open_all(&One::compute, host::Did::Line, step, round);
    for (One& one : ranks_.all) {
      std::vector<Wire const*> from;
      for (int i = 0; i < one.m.size(axis); ++i) {
        int const peer = Link::remote ? one.m.rank : one.m.peer(axis, i);
        if constexpr (!Link::remote)
          one.m.read_from(peer, op::part_size(bucket.count, i, one.m.size(axis)), sizeof(Wire));
        from.push_back(ranks_.template in_arena<Wire>(ranks_.at(peer), wire(0, bucket.offset)));
      }
      if (one.here) put_update<Wire>(one, bucket.offset, bucket.count, from);
    }
    ranks_.close_all(&One::compute);
  }

 private:
  static host::Axis axis_of(int bucket) {
    return P::schedule.bucket[bucket].world ? host::Axis::World : host::Axis::Data;
  }
  long wire(int branch, long offset) const {
    return ranks_.layout.wire + (branch * P::schedule.weight_elements + offset) * static_cast<long>(sizeof(Wire));
  }
  /// The other ranks' parts of a result at `to`.
  template <class W> void gather(One& one, Queue<Machine> const& q, host::Axis axis, long to, long n) {
    for (int i = 0; i < one.m.size(axis); ++i) {
      long const begin = op::part_begin(n, i, one.m.size(axis)), count = op::part_size(n, i, one.m.size(axis));
      if (one.m.peer(axis, i) == one.m.rank || count == 0) continue;
      W const* const from = ranks_.template reach<W>(one, one.m.peer(axis, i), to, begin, count);
      if (!ranks_.planning()) copy_lines(q, ranks_.template in_arena<W>(one, to) + begin, from, 1, count, 0, 0);
    }
  }
  /// This rank's part of a sum over the group: branches at `branches`, `stride` bytes apart; W is their format.
  template <class W, bool Rounded>
  void put_sum(One& one, Queue<Machine> const& q, host::Axis axis, host::Reduction const& how, long branches,
               long stride, long result, long n) {
    using K = SumLeaves<T, W, Rounded>;
    int const mine = one.m.index(axis), size = one.m.size(axis);
    long const begin = op::part_begin(n, mine, size), count = op::part_size(n, mine, size);
    typename K::Args args{ranks_.template in_arena<W>(one, result) + begin, count, 0, {}, {}};
    schedule::TreeSum tree{how.micro_batches};
    for (host::Leaf const& leaf : how.leaves) {
      // `how` was drawn for rank 0; another rank of the axis has the same, among its own peers.
      int const peer = axis == host::Axis::World ? leaf.rank : one.m.peer(axis, ranks_.at(leaf.rank).m.index(axis));
      if (args.leaves == most_sources) throw Error(limit("branches", most_sources));
      args.from[args.leaves] = ranks_.template reach<W>(one, peer, branches + leaf.branch * stride, begin, count);
      signed char merges = 0;
      if (how.ordered) {
        tree.push(leaf.of, [&](int, int) { ++merges; });
      } else {
        merges = args.leaves > 0;
      }
      args.merges[args.leaves++] = merges;
    }
    if (tree.deepest > K::most_depth) throw Error(limit("levels", K::most_depth));
    if (count > 0 && !ranks_.planning()) q.template launch<K>(blocks_each(count), args);
  }
  static std::string limit(char const* what, int most) {
    return "the ordered sum over these ranks has more than " + std::to_string(most) + " " + what +
           " on a device; run fewer ranks, or say fewer MicroBatches";
  }
  template <class G> void put_update(One& one, long offset, long count, std::vector<G const*> const& from) {
    if (from.size() > most_sources) throw Error(limit("parts", most_sources));
    if (ranks_.rehearsing()) return;
    Sources<G> g{static_cast<int>(from.size()), {}};
    for (std::size_t i = 0; i < from.size(); ++i) g.from[i] = from[i];
    auto const& l = ranks_.layout;
    A* const weights = ranks_.template in_arena<A>(one, l.weights) + offset;
    T* const copies = narrow ? ranks_.template in_arena<T>(one, l.copies) + offset : nullptr;
    if constexpr (P::pushes_gradients) {
      one.compute.template launch<Keep<T, G>>(blocks_each(count), {ranks_.template in_arena<A>(one, l.outbox) + offset,
                                                                   weights, copies, count, control_, g});
    } else {
      one.compute.template launch<Update<typename P::optimizer, T, G>>(
          blocks_each(count), {weights, copies, ranks_.template in_arena<A>(one, l.moments) + offset,
                               P::schedule.weight_elements, count, control_, g});
    }
  }

  Ranks& ranks_;
  Control<A> const* control_;
  host::Reduction sums_[2], gradients_[2];
};

}  // namespace cleave::backend::gpu
