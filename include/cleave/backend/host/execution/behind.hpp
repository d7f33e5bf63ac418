// backend/host/execution/behind.hpp - a kernel with the operations fused to its step: as one kernel, or one after the other.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <utility>

#include "../../../meta/list.hpp"
#include "../../../op/tail.hpp"

namespace cleave::backend::host {

template <class On, class Tail> struct InOrder;
template <class On, bool Back, class... Ops> struct InOrder<On, op::Tail<Back, Ops...>> {
  using Tail = op::Tail<Back, Ops...>;
  using Context = typename On::Context;
  template <class Op, op::Local L, bool WithBias, class Map, class T>
  static void forward(Context c, op::Operands<T> const& t) {
    using Kernel = typename On::template Kernel<Op>;
    if constexpr (as_one<Op>) {
      Kernel::template forward_with<Tail, L, WithBias, Map, T>(c, t);
    } else {
      Kernel::template forward<L, WithBias, Map, T>(c, t);
      op::Operands<T> const* next = t.tail;
      (one<Ops>(c, *next++), ...);
    }
  }
  template <class Op, op::Local L, class T> static void backward_input(Context c, op::Operands<T> const& t) {
    using Kernel = typename On::template Kernel<Op>;
    if constexpr (as_one<Op>) {
      Kernel::template backward_input_with<Tail, L, T>(c, t);
    } else {
      Kernel::template backward_input<L, T>(c, t);
      op::Operands<T> const* next = t.tail;
      (one<Ops>(c, *next++), ...);
    }
  }

 private:
  template <class Op>
  static constexpr bool as_one = On::template takes_tail<Op> && (On::template takes_tail<typename Ops::Op> && ...);
  template <class M, class T> static void one(Context c, op::Operands<T> const& t) {
    if constexpr (!On::template takes_slices<typename M::Op>) {
      for (int i = 0; t.slices > 1 && i < t.slices; ++i) one<M>(c, op::slice_of<M::L>(t, i, 0));
      if (t.slices > 1) return;
    }
    using Kernel = typename On::template Kernel<typename M::Op>;
    if constexpr (Back) {
      Kernel::template backward_input<M::L, T>(c, t);
    } else {
      Kernel::template forward<M::L, false, void, T>(c, t);
    }
  }
};

/// For node K: node N fused to it, or the sum with an earlier gradient.
template <class P, int K, int N> struct MadeAt {
  using Op = meta::at<typename P::ops, static_cast<std::size_t>(P::placed.node[N].op)>;
  using type = op::Made<Op, P::placed.node[N].local>;
};
template <class P, int K> struct MadeAt<P, K, -1> {
  static constexpr op::Local of_input() {
    op::Local l = P::placed.node[K].local;
    l.y = l.x;
    return l;
  }
  using type = op::Made<op::AddGradient, of_input()>;
};
template <class P, int K, bool Back, class I> struct TailOf;
template <class P, int K, bool Back, int... I> struct TailOf<P, K, Back, std::integer_sequence<int, I...>> {
  using type = op::Tail<Back, typename MadeAt<P, K, P::schedule.behind(K, Back, I)>::type...>;
};
/// Of node K of plan P.
template <class P, int K, bool Back>
using TailAt = TailOf<P, K, Back, std::make_integer_sequence<int, P::schedule.tail(K, Back)>>;
template <class P, int K, bool Back, class On> using Behind = InOrder<On, typename TailAt<P, K, Back>::type>;

/// The function of the map that node K is; void if it is none.
template <class P, int K> struct MapOf {
  using type = typename meta::at<typename P::ops, static_cast<std::size_t>(P::placed.node[K].op)>::function;
};
template <class P, int K>
requires(K < 0) struct MapOf<P, K> {
  using type = void;
};
template <class P, int K> using map_of = typename MapOf<P, K>::type;

}  // namespace cleave::backend::host
