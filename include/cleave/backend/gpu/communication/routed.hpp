// backend/gpu/communication/routed.hpp - scheduled all-reduce of a bucket on a device, round by round as host/gradients/routed.hpp.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../../../schedule/path.hpp"
#include "direct.hpp"

namespace cleave::backend::gpu {

/// Data from a peer is added to the local sum, or replaces it; what is sent on has the format of the data.
template <class T, class Wire, bool Adds, bool Rounded> struct Take : Each {
  using A = tensor::accumulate_t<T>;
  static constexpr int width = pack_of<A, Wire>();
  struct Args {
    A* sum;
    Wire* wire;  // the same place, unless it is narrower
    Wire const* from;
    long n;
  };
  template <class Ctx> CLEAVE_HD static void run(Ctx const& c, Args const& a) {
    each_pack<width>(c, a.n, a.wire, [&](long i, auto few) {
      constexpr int W = decltype(few)::count;
      auto const from = load<W>(a.from + i);
      if constexpr (Adds) {
        auto sum = load<W>(a.sum + i);
        Pack<Wire, W> wire;
        CLEAVE_UNROLL
        for (int k = 0; k < W; ++k) {
          A const v = sum.v[k] + static_cast<A>(from.v[k]);
          sum.v[k] = Rounded ? static_cast<A>(static_cast<T>(v)) : v;
          if constexpr (sizeof(Wire) < sizeof(A)) wire.v[k] = static_cast<Wire>(sum.v[k]);
        }
        store<W>(a.sum + i, sum);
        if constexpr (sizeof(Wire) < sizeof(A)) store<W>(a.wire + i, wire);
      } else {
        store<W>(a.wire + i, from);
      }
    });
  }
};

template <class P, class Machine, class Link> class Routed {
 public:
  using Ranks = gpu::Ranks<P, Machine, Link>;
  using One = typename Ranks::One;
  using T = typename P::number;
  using A = tensor::accumulate_t<T>;
  using R = typename P::route;
  static constexpr bool narrow = sizeof(T) < sizeof(A), packs = narrow, rounded = narrow && P::format.ordered;
  using Wire = std::conditional_t<narrow, T, A>;

  explicit Routed(Ranks& ranks) : ranks_(ranks) {}

  /// On the reduction stream. In each round all ranks read before any continues; an algorithm lets no rank overwrite
  /// what another has yet to read in the same round.
  void reduce(int b, host::Axis axis) {
    schedule::Bucket const& bucket = P::schedule.bucket[b];
    send::Group const group = schedule::group(bucket.world, ranks_.world.ranks(), sizeof(Wire));
    for (int round = 0; round < R::rounds(bucket.count, group); ++round) {
      if (round > 0) ranks_.meet(axis, &One::sums, &One::sums);
      ranks_.phase(&One::sums, [&](One& one) {
        send::Move const m = R::move(bucket.count, one.m.index(axis), group, round);
        if (!m.any()) return;
        long const n = m.end - m.begin;
        Wire const* const from =
            ranks_.template reach<Wire>(one, one.m.peer(axis, m.peer), ranks_.layout.wire, bucket.offset + m.begin, n);
        if (ranks_.planning()) return;
        long const at = bucket.offset + m.begin;
        A* const sum = ranks_.template in_arena<A>(one, ranks_.layout.gradients, at);
        Wire* const own = ranks_.template in_arena<Wire>(one, ranks_.layout.wire, at);
        if (m.add) {
          stream<Take<T, Wire, true, rounded>>(one.sums, {sum, own, from, n});
        } else {
          stream<Take<T, Wire, false, rounded>>(one.sums, {sum, own, from, n});
        }
      });
    }
  }

  std::vector<Wire const*> sums(One& one, int b, host::Axis) {
    return {ranks_.template in_arena<Wire>(one, wire<P>(ranks_.layout, 0, P::schedule.bucket[b].offset))};
  }

 private:
  Ranks& ranks_;
};

}  // namespace cleave::backend::gpu
