// backend/gpu/clip.hpp - kernels for the norm over all gradients: squares piece by piece, and what they are multiplied by.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../../schedule/norm.hpp"
#include "update.hpp"

namespace cleave::backend::gpu {

/// A block for each piece of elements [first, first + n) of a bucket of `of`: the sum of their squares, in f64 and in
/// one order. That is the same wherever the parts of the bucket lie.
template <class G> struct Squares {
  struct Args {
    double* to;  // one for each piece
    long first, n, of;
    Sources<G> gradient;
  };
  static constexpr int threads = 256, shared_bytes = threads / lanes * static_cast<int>(sizeof(double));
  static constexpr bool alone = false;
  template <class Ctx> CLEAVE_HD static void run(Ctx const& c, Args const& a) {
    using A = tensor::accumulate_t<G>;
    long const begin = c.block() * schedule::norm_piece, end = begin + schedule::norm_piece;
    double sum = 0;
    for (long i = begin + c.thread(); i < end && i < a.n; i += threads) {
      double const v = static_cast<double>(a.gradient.template at<A>(a.first + i, a.of));
      sum += v * v;
    }
    sum = over_block<Sum>(c, sum, reinterpret_cast<double*>(c.shared()));
    if (c.thread() == 0) a.to[c.block()] = sum;
  }
};

/// What gradients are multiplied by, from the sums of all ways, added up in their order.
template <class Optimizer, class A> struct ClipScale : Each {
  struct Args {
    A* scale;
    int ways;
    double const* squares[most_sources];
  };
  template <class Ctx> CLEAVE_HD static void run(Ctx const& c, Args const& a) {
    c.each(1, [&](long) {
      double sum = 0;
      for (int w = 0; w < a.ways; ++w) sum += *a.squares[w];
      *a.scale = optim::clip_scale<Optimizer, A>(sum);
    });
  }
};

/// A gradient as it is stepped.
template <class G, class A> struct Clipped : Sources<G> {
  A const* scale;
  template <class To> CLEAVE_HD To at(long i, long n) const { return Sources<G>::template at<To>(i, n) * *scale; }
};

}  // namespace cleave::backend::gpu
