// backend/gpu/kernels/tailed.hpp - operands of a kernel with the operations fused to it, and a kernel of fused operations only.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../../../op/tail.hpp"
#include "context.hpp"

namespace cleave::backend::gpu {

struct NoTail {
  static constexpr int size = 0;
};

/// Operands by value, as kernels need them. A kernel calls `tail(e)` when it has computed element e.
template <class T, class Tail> struct Tailed : op::Operands<T> {
  op::Operands<T> behind[Tail::size];

  Tailed() = default;
  Tailed(op::Operands<T> const& t) : op::Operands<T>(t) {
    for (int i = 0; i < Tail::size; ++i) behind[i] = t.tail[i];
  }
  CLEAVE_HD void tail(long e) const { Tail::at(e, behind); }
};
template <class T> struct Tailed<T, NoTail> : op::Operands<T> {
  Tailed() = default;
  Tailed(op::Operands<T> const& t) : op::Operands<T>(t) {}
  CLEAVE_HD void tail(long) const {}
};

/// Operations element by element, the first among them, on all slices: n elements.
template <class T, class Tail> struct InTurn {
  struct Args {
    op::Operands<T> of[Tail::size];
    long n;
  };
  static constexpr int threads = 256, shared_bytes = 0;
  static constexpr bool alone = true;
  template <class Ctx> CLEAVE_HD static void run(Ctx const& c, Args const& a) {
    c.each(a.n, [&](long e) { Tail::at(e, a.of); });
  }
};

template <class First, class Tail> struct WithFirst;
template <class First, bool Back, class... Ops> struct WithFirst<First, op::Tail<Back, Ops...>> {
  using type = op::Tail<Back, First, Ops...>;
};
template <class First, class Tail, class T, class Q> void in_turn(Q q, op::Operands<T> const& t) {
  using All = typename WithFirst<First, Tail>::type;
  typename InTurn<T, All>::Args a{};
  a.of[0] = t;
  for (int i = 0; i < Tail::size; ++i) a.of[i + 1] = t.tail[i];
  a.n = First::L.rows * First::L.y.size() * t.slices;
  q.template launch<InTurn<T, All>>(blocks_each(a.n), a);
}

}  // namespace cleave::backend::gpu
