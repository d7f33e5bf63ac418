// backend/gpu/kernels/clip.hpp - kernels for the factor of gradients: sums of squares by pieces, and the factor from them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../../../schedule/norm.hpp"
#include "update.hpp"

namespace cleave::backend::gpu {

/// One block for each piece of elements [first, first + n) of a bucket of `of`: the sum of their squares in f64, in a
/// fixed order that does not depend on where the parts of the bucket are stored.
template <class G> struct Squares {
  struct Args {
    double* to;  // one for each piece
    long first, n, of;
    Sources<G> gradient;
  };
  static constexpr int width = 4;  // in every format, since it determines the order
  static constexpr int threads = 256, shared_bytes = threads / lanes * static_cast<int>(sizeof(double));
  static constexpr bool alone = false;
  template <class Ctx> CLEAVE_HD static void run(Ctx const& c, Args const& a) {
    using A = tensor::accumulate_t<G>;
    long const begin = c.block() * schedule::norm_piece, end = begin + schedule::norm_piece;
    double sum = 0;
    auto const add = [&](auto const& few) {
      CLEAVE_UNROLL
      for (A v : few.v) sum += static_cast<double>(v) * static_cast<double>(v);
    };
    for (long i = begin + width * c.thread(); i < end && i < a.n; i += width * threads) {
      if (i + width <= a.n) {
        add(a.gradient.template at<A, width>(a.first + i, a.of));
      } else {
        for (long k = i; k < a.n; ++k) add(a.gradient.template at<A, 1>(a.first + k, a.of));
      }
    }
    sum = over_block<Sum>(c, sum, reinterpret_cast<double*>(c.shared()));
    if (c.thread() == 0) a.to[c.block()] = sum;
  }
};

/// Where the sums of squares of all ways are, where the scale goes, and the state of the plan's LossScale.
template <class A> struct WaySquares {
  A *scale, *state;
  int ways;
  double const* squares[most_sources];
};
/// Computes the scale of the gradients from the sums of all ways, added in their order.
template <class Optimizer, class A> struct GradientScale : Each {
  using Args = WaySquares<A>;
  template <class Ctx> CLEAVE_HD static void run(Ctx const& c, Args const& a) {
    c.each(1, [&](long) {
      double sum = 0;
      for (int w = 0; w < a.ways; ++w) sum += *a.squares[w];
      *a.scale = optim::gradient_scale<Optimizer, A>(sum, a.state);
    });
  }
};

/// A gradient multiplied by the scale.
template <class G, class A> struct Scaled : Sources<G> {
  A const* scale;
  template <class To, int W> CLEAVE_HD Pack<To, W> at(long i, long n) const {
    auto g = Sources<G>::template at<To, W>(i, n);
    CLEAVE_UNROLL
    for (int k = 0; k < W; ++k) g.v[k] *= *scale;
    return g;
  }
};

}  // namespace cleave::backend::gpu
