// backend/gpu/communication/direct.hpp - one-shot all-reduce on a device: each rank sums its part from all, and reads the others' parts.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string>
#include <vector>

#include "../../host/communication/all_reduce.hpp"
#include "../kernels/update.hpp"
#include "ranks.hpp"

namespace cleave::backend::gpu {

inline std::string too_many(char const* what, int most) {
  return "the sum over these ranks has more than " + std::to_string(most) + " " + what +
         " on a device; run fewer ranks, or say fewer MicroBatches";
}

/// Reads the other ranks' parts of a result into `to`.
template <class W, class Ranks, class Q>
void gather(Ranks& ranks, typename Ranks::One& one, Q const& q, host::Axis axis, long to, long n) {
  for (int i = 0; i < one.m.size(axis); ++i) {
    long const begin = op::part_begin(n, i, one.m.size(axis)), count = op::part_size(n, i, one.m.size(axis));
    if (one.m.peer(axis, i) == one.m.rank || count == 0) continue;
    W const* const from = ranks.template reach<W>(one, one.m.peer(axis, i), to, begin, count);
    if (!ranks.planning()) copy_lines(q, ranks.template in_arena<W>(one, to) + begin, from, 1, count, 0, 0);
  }
}
/// This rank's part of a sum over the group: branches at `branches`, `stride` bytes apart, of format W.
template <class T, class W, bool Rounded, class Ranks, class Q>
void put_sum(Ranks& ranks, typename Ranks::One& one, Q const& q, host::Axis axis, host::Reduction const& how,
             long branches, long stride, long result, long n) {
  using K = SumLeaves<T, W, Rounded>;
  int const mine = one.m.index(axis), size = one.m.size(axis);
  long const begin = op::part_begin(n, mine, size), count = op::part_size(n, mine, size);
  typename K::Args args{ranks.template in_arena<W>(one, result, begin), count, 0, {}, {}};
  schedule::TreeSum tree{how.micro_batches};
  for (host::Leaf const& leaf : how.leaves) {
    // `how` is that of rank 0; another rank of the axis has the same among its peers.
    int const peer = axis == host::Axis::World ? leaf.rank : one.m.peer(axis, ranks.at(leaf.rank).m.index(axis));
    if (args.leaves == most_sources) throw Error(too_many("branches", most_sources));
    args.from[args.leaves] = ranks.template reach<W>(one, peer, branches + leaf.branch * stride, begin, count);
    signed char merges = 0;
    if (how.ordered) {
      tree.push(leaf.of, [&](int, int) { ++merges; });
    } else {
      merges = args.leaves > 0;
    }
    args.merges[args.leaves++] = merges;
  }
  if (tree.deepest > K::most_depth) throw Error(too_many("levels", K::most_depth));
  if (count > 0 && !ranks.planning()) stream<K>(q, args);
}

/// Address of a branch of a rank's gradients in the format in which it is sent.
template <class P> long wire(typename schedule::Layout<P::ops::size> const& l, int branch, long offset) {
  using T = typename P::number;
  using Wire = std::conditional_t<sizeof(T) < sizeof(tensor::accumulate_t<T>), T, tensor::accumulate_t<T>>;
  return l.wire + (branch * P::schedule.weight_elements + offset) * static_cast<long>(sizeof(Wire));
}
/// Converts a bucket's branches to the format of the data.
template <class Ranks> void pack(Ranks& ranks, typename Ranks::One& one, schedule::Bucket const& bucket) {
  using P = typename Ranks::plan;
  for (int branch = 0; branch < ranks.layout.branches; ++branch) {
    auto const* const from = ranks.template in_arena<typename Ranks::A>(one, ranks.layout.gradients) +
                             branch * P::schedule.weight_elements + bucket.offset;
    copy_lines(one.compute,
               ranks.template in_arena<typename Ranks::T>(one, wire<P>(ranks.layout, branch, bucket.offset)), from, 1,
               bucket.count, 0, 0);
  }
}

// An exchange sums a bucket over a group: reduce runs on the reduction stream after the gradients have been packed;
// when all ranks have done so, sums(one) returns where a rank finds the parts of the result, on its compute stream.

template <class P, class Machine, class Link> class Direct {
 public:
  using Ranks = gpu::Ranks<P, Machine, Link>;
  using One = typename Ranks::One;
  using T = typename P::number;
  using A = tensor::accumulate_t<T>;
  static constexpr bool narrow = sizeof(T) < sizeof(A), packs = narrow, rounded = narrow && P::format.ordered;
  using Wire = std::conditional_t<narrow, T, A>;

  explicit Direct(Ranks& ranks) : ranks_(ranks) {
    for (host::Axis a : {host::Axis::Data, host::Axis::World})
      how_[a == host::Axis::World] = host::reduction(ranks.at(0).m, a, ranks.share, P::format.ordered, rounded);
  }

  void reduce(int b, host::Axis axis) {
    schedule::Bucket const& bucket = P::schedule.bucket[b];
    long const at = wire<P>(ranks_.layout, 0, bucket.offset);
    ranks_.phase(&One::sums, [&](One& one) {
      put_sum<T, Wire, rounded>(ranks_, one, one.sums, axis, how_[bucket.world], at,
                                P::schedule.weight_elements * static_cast<long>(sizeof(Wire)), at, bucket.count);
    });
    // Between processes the parts are gathered here, off the critical path: over this rank's branch, which its peers
    // have read.
    if constexpr (Link::remote) {
      ranks_.phase(&One::sums, [&](One& one) { gather<Wire>(ranks_, one, one.sums, axis, at, bucket.count); });
    }
  }
  std::vector<Wire const*> sums(One& one, int b, host::Axis axis) {
    schedule::Bucket const& bucket = P::schedule.bucket[b];
    std::vector<Wire const*> from;
    for (int i = 0; i < one.m.size(axis); ++i) {
      int const peer = Link::remote ? one.m.rank : one.m.peer(axis, i);
      if constexpr (!Link::remote)
        one.m.read_from(peer, op::part_size(bucket.count, i, one.m.size(axis)), sizeof(Wire));
      from.push_back(ranks_.template in_arena<Wire>(ranks_.at(peer), wire<P>(ranks_.layout, 0, bucket.offset)));
    }
    return from;
  }

 private:
  Ranks& ranks_;
  host::Reduction how_[2];
};

}  // namespace cleave::backend::gpu
