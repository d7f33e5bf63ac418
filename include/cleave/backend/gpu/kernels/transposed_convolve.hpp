// backend/gpu/kernels/transposed_convolve.hpp - the transposed convolution on a device: the products of its adjoint.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../../../op/transposed_convolve.hpp"
#include "convolve.hpp"

namespace cleave::backend::gpu {

template <int Out, int K, int Stride, int Pad, op::Start How>
struct Kernel<op::TransposedConvolve<Out, K, Stride, Pad, How>> {
  using Op = op::TransposedConvolve<Out, K, Stride, Pad, How>;
  static constexpr bool takes_slices = true, sums_slices = true, takes_tail = false;

  template <op::Local L, bool WithBias, class Map, class T, class Q>
  static void forward(Q q, op::Operands<T> const& t) {
    contract<ConvolveInput<Op::adjoint(L), K, Stride, Pad, 1, T>>(q, Op::adjoint(t));
    if constexpr (WithBias || !std::is_void_v<Map>)
      q.template launch<Finished<L, WithBias, Map, T>>(blocks_each(L.rows * L.y.size() * t.slices), t);
  }
  template <op::Local L, class T, class Q> static void backward_input(Q q, op::Operands<T> const& t) {
    contract<ConvolveForward<Op::adjoint(L), K, Stride, Pad, 1, false, void, T>>(q, Op::adjoint(t));
  }
  template <op::Local L, class T, class Q> static void sum(Q q, Summing<T> const& t) {
    Summing<T> of = t;
    static_cast<op::Operands<T>&>(of) = Op::adjoint(static_cast<op::Operands<T> const&>(t));
    contract<ConvolveWeight<Op::adjoint(L), K, Stride, Pad, 1, T>>(q, of);
  }
  template <op::Local L, class T, class Q> static void backward_weight(Q q, op::Operands<T> const& t) {
    sum<L, T>(q, one_slice(t));
  }
};

}  // namespace cleave::backend::gpu
