// backend/gpu/kernels/contract.hpp - C = A B of constant sizes, tiled over blocks: matrix products and convolutions are its cases.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "contraction.hpp"
#include "kernel.hpp"
#include "library.hpp"
#include "warpgroups.hpp"

namespace cleave::backend::gpu {

/// Completes a product that was computed in parts: adds them in their order.
template <class Case, class A, int Splits> struct Join {
  using Args = ContractArgs<Case, A>;
  static constexpr int threads = 256, shared_bytes = 0;
  static constexpr bool alone = true;
  template <class Ctx> CLEAVE_HD static void run(Ctx const& c, Args const& args) {
    Extents<Case> const x(args.slices);
    long const plane = long{x.m} * x.n, size = plane * Case::groups;
    c.each(size, [&](long e) {
      int const g = static_cast<int>(e / plane), i = static_cast<int>(e / x.n % x.m), j = static_cast<int>(e % x.n);
      auto const sum_of = [&](int s) {
        A const* const parts = args.parts + s * Splits * size + e;
        A sum = parts[0];
        for (int p = 1; p < Splits; ++p) sum += parts[p * size];
        return sum;
      };
      if constexpr (Case::grows == Extent::K) {
        Turn<typename Case::T> turn(Case::to(args.of), args.first);
        for (int s = 0; s < args.slices; ++s) {
          A sum = sum_of(s);
          turn.put(weights(Case::to(args.of).dw0, [&](auto f) { f(Case::at(g, i, j), sum); }));
        }
      } else {
        Case::store(args.of, g, i, j, sum_of(0));
      }
    });
  }
};

/// Sums in parts: as many slices in one launch as have room for their parts.
template <class Case, class K, int S, class Queue, class A>
void in_parts(Queue q, ContractArgs<Case, A> now, int blocks, long left) {
  constexpr bool sums = Case::grows == Extent::K;
  Extents<Case> const size(now.slices);
  int const slices = now.slices;
  long const fit = room<Case, A>(left) / S;
  int const most = sums && fit < slices ? static_cast<int>(fit) : slices;
  for (; now.first < slices; now.first += most) {
    now.slices = slices - now.first < most ? slices - now.first : most;
    q.template launch<K>(blocks * S * (sums ? now.slices : 1), now);
    q.template launch<Join<Case, A, S>>(blocks_each(long{size.m} * size.n * Case::groups), now);
  }
}

/// By warpgroups.
template <class Case, class Queue> void in_group_tiles(Queue q, typename Case::Args const& args) {
  using A = tensor::accumulate_t<typename Case::T>;
  constexpr GroupTile how = group_tile<Case>();
  ContractArgs<Case, A> now{args, reinterpret_cast<A*>(q.workspace), 0, args.slices};
  Extents<Case> const size(args.slices);
  int const blocks = blocks_for(size.m, how.rows) * blocks_for(size.n, how.columns);
  constexpr int s = group_splits<Case, A>(how, Queue::workspace_bytes);
  constexpr bool together = Case::grows == Extent::K && Case::all_slices > 1 && group_tiles<Case>(how) < 132 &&
                            room<Case, A>(Queue::workspace_bytes) >= 2;  // slices that do not fill a device one by one
  using K = GroupContract<Case, A, how, s, (s > 1) || together>;
  if constexpr (s > 1 || together) {
    in_parts<Case, K, s>(q, now, blocks, Queue::workspace_bytes);
  } else if constexpr (Case::grows == Extent::K) {
    for (; now.first < args.slices; ++now.first) q.template launch<K>(blocks, now);
  } else {
    q.template launch<K>(blocks, now);
  }
}

/// By our kernels, all slices in one launch. For sums in parts: as many slices as have room for theirs.
template <class Case, class Queue> void in_tiles(Queue q, typename Case::Args const& args) {
  using T = typename Case::T;
  using A = tensor::accumulate_t<T>;
  using Tile = tile_of<T>;
  using P = PeaksOf<Case>;
  if constexpr (by_groups<Case>()) {
    if (q.machine->has_warpgroups()) return in_group_tiles<Case>(q, args);
  }
  constexpr bool sums = Case::grows == Extent::K;
  constexpr long left = Queue::workspace_bytes - P::bytes;
  static_assert(left >= Queue::workspace_bytes / 2, "more micro-batches than there is room to remember the maxima of");
  constexpr int s = splits<Case, Tile, A>(left);
  constexpr bool apart = s > 1 || (sums && small<Case, Tile, A>(left));
  using K = Contract<Case, A, Tile, s, apart>;
  if constexpr (tensor::scaled<T>) {
    auto* const peaks = reinterpret_cast<std::uint16_t*>(q.workspace);
    Measured<T> const a{Case::a_from(args), peaks, Case::a_count, P::a_each,
                        Case::grows == Extent::N ? 1 : args.slices};
    Measured<T> const b{Case::b_from(args), peaks + P::b_at, Case::b_count, P::b_each,
                        Case::grows == Extent::M ? 1 : args.slices};
    q.template launch<Peaks<T>>(a.slices * a.each + b.slices * b.each, {a, b});
  }
  ContractArgs<Case, A> now{args, reinterpret_cast<A*>(q.workspace + P::bytes), 0, args.slices};
  Extents<Case> const size(args.slices);
  int const blocks = blocks_for(size.m, K::BM) * blocks_for(size.n, K::BN) * Case::groups;
  if constexpr (apart) {
    in_parts<Case, K, s>(q, now, blocks, left);
  } else {
    q.template launch<K>(blocks, now);
  }
}

/// By a library if the machine has one that computes this product and the queue permits it; else by our kernels.
template <class Case, class Queue> void contract(Queue q, typename Case::Args const& args) {
  if constexpr (can_be_told<std::remove_pointer_t<decltype(q.machine)>, Case>()) {
    auto const own = [&](Queue on) { in_tiles<Case>(on, args); };
    if (q.library != Library::Never && by_library<Case>(q, args, own)) return;
  }
  in_tiles<Case>(q, args);
}

}  // namespace cleave::backend::gpu
