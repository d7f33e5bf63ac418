// backend/gpu/kernels/linked.hpp - a chain of small products fused in one kernel: a block takes its rows through all of them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "contract.hpp"

namespace cleave::backend::gpu {

/// A block has all columns of its rows.
template <class T, int Columns> struct NarrowBlocking {
  using Tile = tile_of<T>;
  static constexpr bool plain = std::is_same_v<Tile, Plain>;
  static constexpr int threads = plain ? 256 : 128, rows = 32, columns = Columns <= 64 ? 64 : 128;
  static constexpr int depth = Tile::per == 2 || (plain && sizeof(tensor::accumulate_t<T>) == 4) ? 32 : 16;
};
template <class Case>
using NarrowContract = Contract<Case, tensor::accumulate_t<typename Case::T>, tile_of<typename Case::T>, 1, false,
                                NarrowBlocking<typename Case::T, Case::n>>;

template <class Case, class... Next> struct LinkedArgs {
  ContractArgs<Case, tensor::accumulate_t<typename Case::T>> now;
  LinkedArgs<Next...> next;
};
template <class Case> struct LinkedArgs<Case> { ContractArgs<Case, tensor::accumulate_t<typename Case::T>> now; };

/// The next product reads the rows that the one before has stored, after a barrier, in the same block.
template <class... Cases> struct Linked {
  using Args = LinkedArgs<Cases...>;
  static constexpr int threads = meta::at<meta::list<NarrowContract<Cases>...>, 0>::threads;
  static constexpr int rows = meta::at<meta::list<NarrowContract<Cases>...>, 0>::BM;
  static constexpr int shared_bytes = [] {
    int most = 0;
    ((most = NarrowContract<Cases>::shared_bytes > most ? NarrowContract<Cases>::shared_bytes : most), ...);
    return most;
  }();
  static constexpr bool alone = false;
  template <class Ctx> CLEAVE_HD static void run(Ctx const& c, Args const& args) { go<Ctx, Cases...>(c, args); }

 private:
  template <class Ctx, class Case, class... Next>
  CLEAVE_HD static void go(Ctx const& c, LinkedArgs<Case, Next...> const& args) {
    NarrowContract<Case>::run(c, args.now);
    if constexpr (sizeof...(Next) > 0) {
      c.barrier();
      go<Ctx, Next...>(c, args.next);
    }
  }
};

template <class Tail> inline constexpr bool may_trail = true;
template <bool Back, class... Ms>
inline constexpr bool may_trail<op::Tail<Back, Ms...>> = (takes_tail<typename Ms::Op> && ...);

}  // namespace cleave::backend::gpu
