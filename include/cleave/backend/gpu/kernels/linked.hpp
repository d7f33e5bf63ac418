// backend/gpu/kernels/linked.hpp - a chain of small products fused in one kernel: a block takes its rows through all of them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../../host/execution/behind.hpp"
#include "contract.hpp"

namespace cleave::backend::gpu {

/// A block has all columns of its rows.
template <class T, int Columns> struct NarrowBlocking {
  using Tile = tile_of<T>;
  static constexpr bool plain = std::is_same_v<Tile, Plain>;
  static constexpr int threads = plain ? 256 : 128, rows = 32, columns = Columns <= 64 ? 64 : 128;
  static constexpr int depth =
      std::is_same_v<Tile, Bf16Tile> || (plain && sizeof(tensor::accumulate_t<T>) == 4) ? 32 : 16;
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

/// Node N of plan P, forward or backward, as such a product; void if it has no such kernel.
template <class P, int N, bool Back> constexpr auto link_case() {
  using T = typename P::number;
  using K = Kernel<meta::at<typename P::ops, static_cast<std::size_t>(P::placed.node[N].op)>>;
  constexpr op::Local local = P::placed.node[N].local;
  using Tail = typename std::conditional_t<(P::schedule.tail(N, Back) > 0), host::TailAt<P, N, Back>,
                                           std::type_identity<NoTail>>::type;
  if constexpr (!requires { requires K::links; } || tensor::scaled<T> || !may_trail<Tail>) {
    return meta::type<void>{};
  } else if constexpr (Back) {
    return meta::type<typename K::template Input<Tail, local, T>>{};
  } else {
    using Map = host::map_of<P, P::schedule.map[N]>;
    return meta::type<typename K::template Forward<Tail, local, (P::schedule.bias[N] >= 0), Map, T>>{};
  }
}
/// Step S of plan P.
template <class P, int S> struct LinkAt {
  static constexpr schedule::Step step = P::schedule.step[S];
  static constexpr bool back = step.what == schedule::Do::BackwardInput;
  static constexpr int tail = P::schedule.tail(step.node, back);
  using Case = typename decltype(link_case<P, step.node, back>())::is;
  static constexpr bool links = !std::is_void_v<Case>;
};

/// The chain of plan P that begins with step S. If a library may compute products, each product is a separate task.
template <class P, int S, class I = std::make_integer_sequence<int, P::schedule.links(S) + 1>> struct LinkedFrom;
template <class P, int S, int... I> struct LinkedFrom<P, S, std::integer_sequence<int, I...>> {
  static constexpr bool may = [] {
    if constexpr (sizeof...(I) < 2 || !(LinkAt<P, S + I>::links && ...)) {
      return false;
    } else {  // a kernel takes at most 32,764 bytes of arguments
      return sizeof(typename Linked<typename LinkAt<P, S + I>::Case...>::Args) <= 32'000;
    }
  }();

  template <class Q> static void put(Q q, op::Operands<typename P::number> const& t) {
    op::Operands<typename P::number> const* of[sizeof...(I)] = {&t};
    for (std::size_t i = 1; i < sizeof...(I); ++i) of[i] = of[i - 1]->tail + tails[i - 1];
    if constexpr (requires { q.machine->products(); }) {
      if (q.library != Library::Never) return (contract<typename LinkAt<P, S + I>::Case>(q, *of[I]), ...);
    }
    using K = Linked<typename LinkAt<P, S + I>::Case...>;
    typename K::Args args{};
    fill(args, of, t.slices);
    q.template launch<K>(blocks_for(LinkAt<P, S>::Case::m * t.slices, K::rows), args);
  }

 private:
  static constexpr int tails[] = {LinkAt<P, S + I>::tail...};
  template <class Args, class T> static void fill(Args& args, op::Operands<T> const* const* of, int slices) {
    args.now = {**of, nullptr, 0, slices};
    if constexpr (requires { args.next; }) fill(args.next, of + 1, slices);
  }
};

template <class P, int S> constexpr bool linked_from() {
  if constexpr (S >= 0) {
    if constexpr (P::schedule.links(S) > 0) return LinkedFrom<P, S>::may;
  }
  return false;
}

}  // namespace cleave::backend::gpu
