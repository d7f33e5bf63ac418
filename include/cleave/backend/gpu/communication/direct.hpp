// backend/gpu/communication/direct.hpp - one-shot all-reduce on a device: each rank sums its part from all, and reads the others' parts.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../../host/communication/all_reduce.hpp"
#include "exchange.hpp"

namespace cleave::backend::gpu {

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

/// Each rank sums its part of a bucket in the ordered tree. `Rounded`: every sum to the format of the data.
template <class T, class Machine, class Link, bool Rounded> class Direct : public DeviceExchange<T, Machine, Link> {
  using Base = DeviceExchange<T, Machine, Link>;
  using Base::bucket, Base::ranks_, Base::wire;

 public:
  using typename Base::One, typename Base::Ranks, typename Base::Wire;

  explicit Direct(Ranks& ranks) : Base(ranks) {
    for (host::Axis a : {host::Axis::Data, host::Axis::World}) {
      how_[a == host::Axis::World] =
          host::reduction(ranks.at(0).m, a, ranks.share, ranks.program.format.ordered, Rounded);
    }
  }

  void reduce(int b, host::Axis axis) override {
    long const at = wire(0, bucket(b).offset), count = bucket(b).count;
    ranks_.phase(&One::sums, [&](One& one) {
      put_sum<T, Wire, Rounded>(ranks_, one, one.sums, axis, how_[bucket(b).over == schedule::over_all], at,
                                ranks_.program.weight_elements * static_cast<long>(sizeof(Wire)), at, count);
    });
    // Between processes the parts are gathered here, off the critical path: over this rank's branch, which its peers
    // have read.
    if constexpr (Link::remote) {
      ranks_.phase(&One::sums, [&](One& one) { gather<Wire>(ranks_, one, one.sums, axis, at, count); });
    }
  }
  std::vector<void const*> sums(One& one, int b, host::Axis axis) override {
    std::vector<void const*> from;
    for (int i = 0; i < one.m.size(axis); ++i) {
      int const peer = Link::remote ? one.m.rank : one.m.peer(axis, i);
      if constexpr (!Link::remote)
        one.m.read_from(peer, op::part_size(bucket(b).count, i, one.m.size(axis)), sizeof(Wire));
      from.push_back(ranks_.template in_arena<Wire>(ranks_.at(peer), wire(0, bucket(b).offset)));
    }
    return from;
  }

 private:
  host::Reduction how_[2];
};

}  // namespace cleave::backend::gpu
