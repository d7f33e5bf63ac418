// backend/gpu/update.hpp - one kernel for the optimizer: weights, moments and the copy that kernels read, in one pass.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../../op/operands.hpp"
#include "../../op/verb.hpp"
#include "../../optim/optimizer.hpp"
#include "move.hpp"

namespace cleave::backend::gpu {

/// What a step is told, on the device, before it: kernels read it there, so that a captured step serves for all.
template <class A> struct Control {
  op::Pass pass;
  optim::Now<A> now;
};

/// w (n) in the format of sums; copy (n) in that of the data, or null; moments `apart` elements from each other. Part p
/// of the gradient's n elements lies with source p, at the same place.
template <class Optimizer, class T, class G> struct Update : Each {
  using A = tensor::accumulate_t<T>;
  struct Args {
    A* w;
    T* copy;
    A* moments;
    long apart, n;
    Control<A> const* control;
    int parts;
    G const* from[most_sources];
  };
  template <class Ctx> CLEAVE_HD static void run(Ctx const& c, Args const& a) {
    optim::Now<A> const now = a.control->now;
    c.each(a.n, [&](long i) {
      int p = static_cast<int>(i * a.parts / a.n);  // part p begins at floor(n p / parts): at most one further
      if (p + 1 < a.parts && op::part_begin(a.n, p + 1, a.parts) <= i) ++p;
      A m0 = Optimizer::moments > 0 ? a.moments[i] : A{0}, m1 = Optimizer::moments > 1 ? a.moments[a.apart + i] : A{0};
      A value = a.w[i];
      Optimizer::template step<Optimizer, A>(value, static_cast<A>(a.from[p][i]), m0, m1, now);
      a.w[i] = value;
      if constexpr (Optimizer::moments > 0) a.moments[i] = m0;
      if constexpr (Optimizer::moments > 1) a.moments[a.apart + i] = m1;
      if constexpr (sizeof(T) < sizeof(A)) a.copy[i] = static_cast<T>(value);
    });
  }
};

}  // namespace cleave::backend::gpu
