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
  A own_rate = 0;  // see Keep
};

/// A gradient of n elements: part p of it lies with source p, at the same place.
template <class G> struct Sources {
  using format = G;
  int parts;
  G const* from[most_sources];
  template <class A> CLEAVE_HD A at(long i, long n) const {
    long const p = ((i + 1) * parts - 1) / n;  // the last that begins, at floor(n p / parts), by i
    return static_cast<A>(from[p][i]);
  }
};

/// w (n) in the format of sums; copy (n) in that of the data, or null; moments `apart` elements from each other.
template <class Optimizer, class T, class G, class From = Sources<G>> struct Update : Each {
  using A = tensor::accumulate_t<T>;
  struct Args {
    A* w;
    T* copy;
    A* moments;
    long apart, n;
    Control<A> const* control;
    From gradient;
  };
  template <class Ctx> CLEAVE_HD static void run(Ctx const& c, Args const& a) {
    optim::Now<A> const now = a.control->now;
    c.each(a.n, [&](long i) {
      A m0 = Optimizer::moments > 0 ? a.moments[i] : A{0}, m1 = Optimizer::moments > 1 ? a.moments[a.apart + i] : A{0};
      A value = a.w[i];
      Optimizer::template step<Optimizer, A>(value, a.gradient.template at<A>(i, a.n), m0, m1, now);
      a.w[i] = value;
      if constexpr (Optimizer::moments > 0) a.moments[i] = m0;
      if constexpr (Optimizer::moments > 1) a.moments[a.apart + i] = m1;
      if constexpr (sizeof(T) < sizeof(A)) a.copy[i] = static_cast<T>(value);
    });
  }
};

/// Of a replica that pushes: the gradient is added to what is kept, and the optimizer is somewhere else. At a rate of
/// its own the replica's weights are stepped by plain SGD all the same.
template <class T, class G> struct Keep : Each {
  using A = tensor::accumulate_t<T>;
  struct Args {
    A *kept, *w;
    T* copy;
    long n;
    Control<A> const* control;
    Sources<G> gradient;
  };
  template <class Ctx> CLEAVE_HD static void run(Ctx const& c, Args const& a) {
    A const rate = a.control->own_rate;
    c.each(a.n, [&](long i) {
      A const g = a.gradient.template at<A>(i, a.n);
      a.kept[i] += g;
      if (rate == 0) return;
      a.w[i] -= rate * g;
      if constexpr (sizeof(T) < sizeof(A)) a.copy[i] = static_cast<T>(a.w[i]);
    });
  }
};

}  // namespace cleave::backend::gpu
