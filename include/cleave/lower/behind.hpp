// lower/behind.hpp - the operations that a plan fuses to a node's step, as types.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../backend/host/execution/behind.hpp"
#include "../meta/list.hpp"

namespace cleave::lower {

/// The operation whose kernels node K of plan P runs.
template <class P, int K> struct OpAt {
  using type = meta::at<typename P::ops, static_cast<std::size_t>(P::placed.node[K].op)>;
};
template <class P, int K>
requires(P::placed.node[K].reads_padded) struct OpAt<P, K> {
  using type = typename meta::at<typename P::ops, static_cast<std::size_t>(P::placed.node[K].op)>::of_padded;
};
template <class P, int K> using op_at = typename OpAt<P, K>::type;

/// For node K: node N fused to it, or the sum with an earlier gradient.
template <class P, int K, int N> struct MadeAt {
  using Op = op_at<P, N>;
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
template <class P, int K, bool Back, class On>
using Behind = backend::host::InOrder<On, typename TailAt<P, K, Back>::type>;

/// The function of the map that node K is; void if it is none.
template <class P, int K> struct MapOf {
  using type = typename meta::at<typename P::ops, static_cast<std::size_t>(P::placed.node[K].op)>::function;
};
template <class P, int K>
requires(K < 0) struct MapOf<P, K> {
  using type = void;
};
template <class P, int K> using map_of = typename MapOf<P, K>::type;

}  // namespace cleave::lower
