// op/tail.hpp - element-wise operations fused to another operation's step, each by its definition.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../meta/host_device.hpp"
#include "operands.hpp"

namespace cleave::op {

/// A context in which a loop runs one of its iterations.
struct Only {
  long e;
  template <class F> CLEAVE_HD void each(long, F const& f) const { f(e); }
};

/// An operation and the extents it is specialised on.
template <class Op_, Local L_> struct Made {
  using Op = Op_;
  static constexpr Local L = L_;
};

/// The gradient from another reader of a value (dx), and this operation's contribution (dy) to it.
struct AddGradient : Base {
  static constexpr auto name = "add";
  static constexpr bool pointwise = true;
  template <Local L, class Ctx, class T> CLEAVE_HD static void backward_input(Ctx const& ctx, Operands<T> const& t) {
    using A = tensor::accumulate_t<T>;
    ctx.each(L.rows * L.y.size(),
             [&](long e) { t.dx[e] = static_cast<T>(static_cast<A>(t.dx[e]) + static_cast<A>(t.dy[e])); });
  }
};

template <> inline constexpr bool of_any_extents<AddGradient> = true;

/// In this order, forward or backward; operands are contiguous. The next operation reads element e that one has
/// written.
template <bool Back, class... Ops> struct Tail {
  static constexpr int size = sizeof...(Ops);
  static constexpr bool back = Back;

  template <class T> CLEAVE_HD static void at(long e, Operands<T> const* of) {
    int i = 0;
    (one<Ops>(Only{e}, of[i++]), ...);
  }

 private:
  template <class M, class T> CLEAVE_HD static void one(Only const& c, Operands<T> const& t) {
    if constexpr (Back) {
      M::Op::template backward_input<M::L>(c, t);
    } else {
      M::Op::template forward<M::L>(c, t);
    }
  }
};

}  // namespace cleave::op
