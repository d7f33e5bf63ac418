// backend/gpu/kernels/reshaped.hpp - on a device too, an operation that is another one in other extents runs as its kernel.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../../../op/reshaped.hpp"
#include "kernel.hpp"

namespace cleave::backend::gpu {

template <class Op>
requires op::is_reshaped<Op> && takes_tail<typename Op::runs_as>
struct Kernel<Op> : TakesTails<Kernel<Op>> {
  using Of = Kernel<typename Op::runs_as>;
  template <class Tail, op::Local L, bool WithBias, class Map, class T, class Q>
  static void forward_with(Q q, op::Operands<T> const& t) {
    Of::template forward_with<Tail, Op::as(L), WithBias, Map>(q, t);
  }
  template <class Tail, op::Local L, class T, class Q> static void backward_input_with(Q q, op::Operands<T> const& t) {
    Of::template backward_input_with<Tail, Op::as(L)>(q, t);
  }
  template <op::Local L, class T, class Q> static void sum(Q q, Summing<T> const& t) {
    Of::template sum<Op::as(L)>(q, t);
  }
};
template <class Op>
requires(op::is_reshaped<Op> && !takes_tail<typename Op::runs_as> &&
         requires { requires Kernel<typename Op::runs_as>::sums_slices; }) struct Kernel<Op> : ByDefinition<Op> {
  static constexpr bool sums_slices = true;
  template <op::Local L, class T, class Q> static void sum(Q q, Summing<T> const& t) {
    Kernel<typename Op::runs_as>::template sum<Op::as(L), T>(q, t);
  }
  template <op::Local L, class T, class Q> static void backward_weight(Q q, op::Operands<T> const& t) {
    sum<L, T>(q, one_slice(t));
  }
};

}  // namespace cleave::backend::gpu
