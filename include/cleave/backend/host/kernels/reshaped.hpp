// backend/host/kernels/reshaped.hpp - an operation that is another one in other extents runs as its kernel.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../../../op/reshaped.hpp"
#include "kernel.hpp"

namespace cleave::backend::host {

template <class Op>
requires op::is_reshaped<Op>
struct Kernel<Op> {
  using Of = Kernel<typename Op::runs_as>;
  static constexpr bool takes_slices = requires { requires Of::takes_slices; };
  template <op::Local L, class T> static constexpr bool sums_slices = requires {
    requires Of::template sums_slices<Op::as(L), T>;
  };
  template <op::Local L, bool WithBias, class Map, class T> static void forward(Context c, op::Operands<T> const& t) {
    Of::template forward<Op::as(L), WithBias, Map>(c, t);
  }
  template <op::Local L, class T> static void backward_input(Context c, op::Operands<T> const& t) {
    Of::template backward_input<Op::as(L)>(c, t);
  }
  template <op::Local L, class T> static void backward_weight(Context c, op::Operands<T> const& t) {
    Of::template backward_weight<Op::as(L)>(c, t);
  }
  template <op::Local L, class T>
  requires(sums_slices<L, T>) static void sum(Context c, op::Operands<T> const& t,
                                              Branches<tensor::accumulate_t<T>> const& to) {
    Of::template sum<Op::as(L)>(c, t, to);
  }
  template <op::Local L, class T, class Step>
  requires requires(Context c, op::Operands<T> const& t, Step step) {
    Of::template update_weight<Op::as(L)>(c, t, step);
  }
  static void update_weight(Context c, op::Operands<T> const& t, Step step) {
    Of::template update_weight<Op::as(L)>(c, t, step);
  }
};

}  // namespace cleave::backend::host
