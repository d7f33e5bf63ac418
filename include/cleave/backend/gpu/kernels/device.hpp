// backend/gpu/kernels/device.hpp - a device as the backend that a schedule is lowered for: its kernels, and what they can do.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "kernel.hpp"

namespace cleave::backend::gpu {

/// The backend that a schedule is lowered for; see host::Host.
template <class Machine> struct Device {
  using Context = Queue<Machine>;
  template <class Op> struct Kernel {
    template <op::Local L, bool WithBias, class Map, class T> static void forward(Context q, op::Operands<T> const& t) {
      gpu::Kernel<Op>::template forward<L, WithBias, Map>(q, t);
    }
    template <op::Local L, class T> static void backward_input(Context q, op::Operands<T> const& t) {
      gpu::Kernel<Op>::template backward_input<L>(q, t);
    }
    template <op::Local L, class T> static void backward_weight(Context q, op::Operands<T> const& t) {
      gpu::Kernel<Op>::template backward_weight<L>(q, t);
    }
    template <class Tail, op::Local L, bool WithBias, class Map, class T>
    static void forward_with(Context q, op::Operands<T> const& t) {
      gpu::Kernel<Op>::template forward_with<Tail, L, WithBias, Map>(q, t);
    }
    template <class Tail, op::Local L, class T> static void backward_input_with(Context q, op::Operands<T> const& t) {
      gpu::Kernel<Op>::template backward_input_with<Tail, L>(q, t);
    }
    template <op::Local L, class T>
    static void sum(Context q, op::Operands<T> const& t, gpu::Branches<tensor::accumulate_t<T>> const& to) {
      gpu::Kernel<Op>::template sum<L, T>(q, {t, to});
    }
  };
  template <class A> using Branches = gpu::Branches<A>;
  static constexpr bool updates_in_gradients = false;
  template <class Op> static constexpr bool takes_slices = requires { requires gpu::Kernel<Op>::takes_slices; };
  template <class Op, op::Local, class> static constexpr bool sums_slices = requires {
    requires gpu::Kernel<Op>::sums_slices;
  };
  template <class Op> static constexpr bool takes_tail = gpu::takes_tail<Op>;
  template <class Loss> static constexpr bool loss_with_gradient = requires {
    requires gpu::Kernel<Loss>::loss_with_gradient;
  };
};

}  // namespace cleave::backend::gpu
