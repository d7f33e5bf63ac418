// backend/host/execution/behind.hpp - a kernel with the operations fused to its step: as one kernel, or one after the other.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

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
    if constexpr (!On::template takes_slices<typename M::Op> && !M::L.is_one_slice()) {
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

}  // namespace cleave::backend::host
