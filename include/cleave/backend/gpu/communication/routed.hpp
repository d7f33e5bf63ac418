// backend/gpu/communication/routed.hpp - scheduled all-reduce of a bucket on a device, round by round as host/gradients/routed.hpp.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../../../schedule/path.hpp"
#include "exchange.hpp"

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

/// By the rounds of the plan's algorithm. `Rounded`: every sum to the format of the data.
template <class T, class Machine, class Link, bool Rounded> class Routed : public DeviceExchange<T, Machine, Link> {
  using Base = DeviceExchange<T, Machine, Link>;
  using Base::bucket, Base::ranks_, Base::wire;

 public:
  using typename Base::One, typename Base::Wire;
  using A = tensor::accumulate_t<T>;
  using Base::Base;

  /// On the reduction stream. In each round all ranks read before any continues; an algorithm lets no rank overwrite
  /// what another has yet to read in the same round.
  void reduce(int b, host::Axis axis) override {
    schedule::Path const& route = ranks_.program.format.path;
    long const offset = bucket(b).offset, count = bucket(b).count;
    send::Group const group = schedule::group(bucket(b).over, ranks_.world.ranks(), sizeof(Wire));
    int const rounds = route.rounds(count, group);
    for (int round = 0; round < rounds; ++round) {
      if (round > 0) ranks_.meet(axis, &One::sums, &One::sums);
      ranks_.phase(&One::sums, [&](One& one) {
        send::Move const m = route.move(count, one.m.index(axis), group, round);
        if (!m.any()) return;
        long const n = m.end - m.begin, at = offset + m.begin;
        Wire const* const from = ranks_.template reach<Wire>(one, one.m.peer(axis, m.peer), ranks_.layout.wire, at, n);
        if (ranks_.planning()) return;
        A* const sum = ranks_.template in_arena<A>(one, ranks_.layout.gradients, at);
        Wire* const own = ranks_.template in_arena<Wire>(one, ranks_.layout.wire, at);
        if (m.add) {
          stream<Take<T, Wire, true, Rounded>>(one.sums, {sum, own, from, n});
        } else {
          stream<Take<T, Wire, false, Rounded>>(one.sums, {sum, own, from, n});
        }
      });
    }
  }

  std::vector<void const*> sums(One& one, int b, host::Axis) override {
    return {ranks_.template in_arena<Wire>(one, wire(0, bucket(b).offset))};
  }
};

}  // namespace cleave::backend::gpu
