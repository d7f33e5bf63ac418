// backend/host/kernels/kernel.hpp - how an operation runs on a core: by its definition, unless the host has a kernel for it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <type_traits>

#include "../../../op/reshaped.hpp"
#include "../../../tensor/each.hpp"
#include "branches.hpp"

namespace cleave::backend::host {

/// The context of an operation's definition on the host: one thread that does everything.
struct Context {
  std::byte* workspace = nullptr;  // schedule::workspace_bytes, aligned to 64

  /// Marked for nvcc, which sees operations called with this; it never runs on a device.
  template <class F> CLEAVE_HD void each([[maybe_unused]] long n, [[maybe_unused]] F f) const {
#ifndef __CUDA_ARCH__
    tensor::each(n, f);
#endif
  }
};

/// f(operands of it) for each slice of t, whose operation keeps no numbers of a sample.
template <op::Local L, class T, class F> void each_slice(op::Operands<T> const& t, F f) {
  for (int i = 0; i < t.slices; ++i) f(op::slice_of<L>(t, i, 0));
}

/// By its definition. `WithBias` and `Map` (a function class, or void) are the operations merged into this one:
/// y = map(op(x) + bias), with the bias along y's first letter.
template <class Op> struct ByDefinition {
  template <op::Local L, bool WithBias, class Map, class T> static void forward(Context c, op::Operands<T> const& t) {
    Op::template forward<L>(c, t);
    merged<L, WithBias, Map>(t, 1);
  }
  template <op::Local L, class T> static void backward_input(Context c, op::Operands<T> const& t) {
    if constexpr (requires { Op::template backward_input<L>(c, t); }) Op::template backward_input<L>(c, t);
  }
  /// dw is overwritten.
  template <op::Local L, class T> static void backward_weight(Context c, op::Operands<T> const& t) {
    if constexpr (requires { Op::template backward_weight<L>(c, t); }) Op::template backward_weight<L>(c, t);
  }

 protected:
  template <op::Local L, bool WithBias, class Map, class T>
  static void merged(op::Operands<T> const& t, [[maybe_unused]] long slices) {
    if constexpr (WithBias || !std::is_void_v<Map>) {
      using A = tensor::accumulate_t<T>;
      constexpr long below = L.y.stride(0), size = L.y.size();
      for (long e = 0; e < L.rows * size * slices; ++e) {
        A v = static_cast<A>(t.y[e]);
        if constexpr (WithBias) v += static_cast<A>(t.bias[e % size / below]);
        if constexpr (!std::is_void_v<Map>) v = Map::forward(v);
        t.y[e] = static_cast<T>(v);
      }
    }
  }
};

/// A context whose loops are so many times as long: over several slices, which lie side by side.
struct Times {
  long times;
  template <class F> CLEAVE_HD void each([[maybe_unused]] long n, [[maybe_unused]] F f) const {
#ifndef __CUDA_ARCH__
    tensor::each(n * times, f);
#endif
  }
};

inline constexpr op::Local one_element = [] {
  op::Local l;
  l.rows = l.batch = 1;
  l.x = l.x2 = l.y = Shape(1);
  return l;
}();

/// Of a pointwise operation all slices at once; where only the length of its loops depends on the extents, one copy
/// serves all of them.
template <class Op> struct Pointwise : ByDefinition<Op> {
  static constexpr bool takes_slices = true;
  template <op::Local L, bool WithBias, class Map, class T> static void forward(Context, op::Operands<T> const& t) {
    if constexpr (op::of_any_extents<Op>) {
      elements(t, elements_of<L>(t));
    } else {
      Op::template forward<L>(Times{t.slices}, t);
    }
    ByDefinition<Op>::template merged<L, WithBias, Map>(t, t.slices);
  }
  template <op::Local L, class T> static void backward_input(Context, op::Operands<T> const& t) {
    if constexpr (op::of_any_extents<Op>) {
      elements_back(t, elements_of<L>(t));
    } else if constexpr (requires { Op::template backward_input<L>(Times{t.slices}, t); }) {
      Op::template backward_input<L>(Times{t.slices}, t);
    }
  }

 protected:
  template <op::Local L, class T> static long elements_of(op::Operands<T> const& t) {
    return L.rows * L.y.size() * t.slices;
  }

 private:
  template <class T> [[gnu::noinline]] static void elements(op::Operands<T> const& t, long n) {
    Op::template forward<one_element>(Times{n}, t);
  }
  template <class T> [[gnu::noinline]] static void elements_back(op::Operands<T> const& t, long n) {
    Op::template backward_input<one_element>(Times{n}, t);
  }
};

/// One that is reshaped runs as the kernel of what it is (reshaped.hpp).
template <class Op>
inline constexpr bool is_pointwise =
    Op::pointwise&& Op::weights + Op::states == 0 && !Op::is_loss && !op::is_reshaped<Op>;

/// Specialised for the operations that earn it (product.hpp, convolve.hpp, map.hpp). A kernel says `takes_slices` when
/// its forward and backward_input do all slices that they are given, and sums_slices<L, T> when it has
/// sum(context, operands, Branches), which makes and merges what is summed over the batch.
template <class Op> struct Kernel : ByDefinition<Op> {};
template <class Op>
requires(is_pointwise<Op>) struct Kernel<Op> : Pointwise<Op> {
};

/// What a schedule is prepared for: where kernels run, and what they are.
struct Host {
  using Context = host::Context;
  template <class Op> using Kernel = host::Kernel<Op>;
  static constexpr bool updates_in_gradients = true;                       // where nobody else has a part in them
  template <class Loss> static constexpr bool loss_with_gradient = false;  // its gradient brings the loss too
  // All slices of a rank by one kernel, and the same for what is summed over each.
  template <class Op> static constexpr bool takes_slices = requires { requires host::Kernel<Op>::takes_slices; };
  template <class Op, op::Local L, class T> static constexpr bool sums_slices = requires {
    requires host::Kernel<Op>::template sums_slices<L, T>;
  };
  template <class Op> static constexpr bool takes_tail = false;  // one kernel with what is done behind it
  template <class A> using Branches = host::Branches<A>;
};

}  // namespace cleave::backend::host
