// op/reshaped.hpp - an operation that is another one on the same numbers in other extents, and so has its kernels.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../meta/host_device.hpp"
#include "operands.hpp"

namespace cleave::op {

/// Base of Op: it runs as `Of` with the extents Op::as(Local).
template <class Op, class Of> struct Reshaped : Of {
  using runs_as = Of;

  template <Local L, class Ctx, class T> CLEAVE_HD static void forward(Ctx ctx, Operands<T> const& t) {
    Of::template forward<Op::as(L)>(ctx, t);
  }
  template <Local L, class Ctx, class T>
  requires requires(Ctx c, Operands<T> const& o) { Of::template backward_input<L>(c, o); }
  CLEAVE_HD static void backward_input(Ctx ctx, Operands<T> const& t) {
    Of::template backward_input<Op::as(L)>(ctx, t);
  }
  template <Local L, class Ctx, class T>
  requires requires(Ctx c, Operands<T> const& o) { Of::template backward_weight<L>(c, o); }
  CLEAVE_HD static void backward_weight(Ctx ctx, Operands<T> const& t) {
    Of::template backward_weight<Op::as(L)>(ctx, t);
  }
};
template <class Op> inline constexpr bool is_reshaped = requires { typename Op::runs_as; };

}  // namespace cleave::op
