// backend/gpu/kernels/update.hpp - one kernel for the optimizer: weights, moments and the copy that kernels read, in one pass.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../../../op/operands.hpp"
#include "../../../op/verb.hpp"
#include "../../../optim/optimizer.hpp"
#include "move.hpp"

namespace cleave::backend::gpu {

/// Arguments of a step, on the device: kernels read them there, so that one captured step serves for all.
template <class A> struct Control {
  op::Pass pass;
  optim::Now<A> now;
  A own_rate = 0;  // see Keep
};

/// A gradient of n elements: part p of it is in source p, at the same index.
template <class G> struct Sources {
  using format = G;
  int parts;
  G const* from[most_sources];
  /// The last part that begins, at floor(n p / parts), at or before i.
  CLEAVE_HD int part(long i, long n) const { return parts == 1 ? 0 : static_cast<int>(((i + 1) * parts - 1) / n); }
  /// W neighbours from i on.
  template <class A, int W> CLEAVE_HD Pack<A, W> at(long i, long n) const {
    int const p = part(i, n);
    if constexpr (W == 1) {
      return {{static_cast<A>(from[p][i])}};
    } else {
      if (p + 1 == parts || op::part_begin(n, p + 1, parts) >= i + W) return converted<A>(load<W>(from[p] + i));
      Pack<A, W> g;
      for (int k = 0; k < W; ++k) g.v[k] = static_cast<A>(from[part(i + k, n)][i + k]);
      return g;
    }
  }
};

/// The weights of an update, and what belongs to them.
template <class T> struct WeightRange {
  using A = tensor::accumulate_t<T>;
  A* weights;
  T* copies;   // null if they are the weights
  A* moments;  // `apart` elements from each other
  A* kept;     // of a replica that pushes: see Keep
  long apart, count;
  Control<A> const* control;
  A const* scale;  // of gradients, from their norm
  long offset;     // of the first weight, on its rank
  optim::ParameterRuns groups;
};

/// w (n) in the format of sums; copy (n) in that of the data, or null; moments `apart` elements from each other.
template <class Optimizer, class T, class G, class From = Sources<G>> struct Update : Each {
  using A = tensor::accumulate_t<T>;
  static constexpr int width = pack_of<A>();
  struct Args {
    A* w;
    T* copy;
    A* moments;
    long apart, n;
    Control<A> const* control;
    From gradient;           // from its element `first` on
    long first = 0, of = 0;  // elements of all of it; 0: n
    optim::RunGroup group{};
  };
  /// Running means are of gradients that were not scaled.
  template <int W> CLEAVE_HD static Pack<A, W> gradient(Args const& a, long i, long all) {
    if constexpr (optim::Averages<Optimizer> && optim::ScalesGradients<Optimizer>) {
      if (a.group.average != 0) return static_cast<Sources<G> const&>(a.gradient).template at<A, W>(i, all);
    }
    return a.gradient.template at<A, W>(i, all);
  }
  template <class Ctx> CLEAVE_HD static void run(Ctx const& c, Args const& a) {
    if constexpr (optim::ScalesLoss<Optimizer>) {
      if (*a.gradient.scale == A{0}) return;
    }
    optim::Now<A> now = a.control->now;
    if constexpr (optim::HasGroups<Optimizer>) now = now.in(a.group);
    long const all = a.of > 0 ? a.of : a.n;
    each_pack<width>(c, a.n, a.w, [&](long i, auto few) {
      constexpr int W = decltype(few)::count;
      auto value = load<W>(a.w + i);
      auto const g = gradient<W>(a, a.first + i, all);
      Pack<A, W> m0{}, m1{};
      if constexpr (Optimizer::moments > 0) m0 = load<W>(a.moments + i);
      if constexpr (Optimizer::moments > 1) m1 = load<W>(a.moments + a.apart + i);
      CLEAVE_UNROLL
      for (int k = 0; k < W; ++k) Optimizer::template step<Optimizer, A>(value.v[k], g.v[k], m0.v[k], m1.v[k], now);
      store<W>(a.w + i, value);
      if constexpr (Optimizer::moments > 0) store<W>(a.moments + i, m0);
      if constexpr (Optimizer::moments > 1) store<W>(a.moments + a.apart + i, m1);
      if constexpr (sizeof(T) < sizeof(A)) {
        store<W>(a.copy + i, converted<T>(value));
      }
    });
  }
};

/// For a replica that pushes: the gradient is added to what is kept, and the optimizer is on a server. With a local
/// rate the replica's weights are also updated by plain SGD.
template <class T, class G> struct Keep : Each {
  using A = tensor::accumulate_t<T>;
  static constexpr int width = pack_of<A>();
  struct Args {
    A *kept, *w;
    T* copy;
    long n;
    Control<A> const* control;
    Sources<G> gradient;  // from its element `first` on
    long first, of;       // elements of all of it
    float rate;           // of the parameters' group, of the local rate
  };
  template <class Ctx> CLEAVE_HD static void run(Ctx const& c, Args const& a) {
    A const rate = a.control->own_rate * static_cast<A>(a.rate);
    each_pack<width>(c, a.n, a.kept, [&](long i, auto few) {
      constexpr int W = decltype(few)::count;
      auto const g = a.gradient.template at<A, W>(a.first + i, a.of);
      auto kept = load<W>(a.kept + i);
      CLEAVE_UNROLL
      for (int k = 0; k < W; ++k) kept.v[k] += g.v[k];
      store<W>(a.kept + i, kept);
      if (rate == 0) return;
      auto value = load<W>(a.w + i);
      CLEAVE_UNROLL
      for (int k = 0; k < W; ++k) value.v[k] = optim::multiply_add(-rate, g.v[k], value.v[k]);
      store<W>(a.w + i, value);
      if constexpr (sizeof(T) < sizeof(A)) {
        store<W>(a.copy + i, converted<T>(value));
      }
    });
  }
};

}  // namespace cleave::backend::gpu
