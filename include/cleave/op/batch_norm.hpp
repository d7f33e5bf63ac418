// op/batch_norm.hpp - batch normalisation as two operations, so that its sums over the batch are placed like any other.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cmath>

#include "../meta/host_device.hpp"
#include "operands.hpp"

namespace cleave::op {

/// "bc*->c": per channel the sum and the sum of squares over the batch and the positions, as (2, c). Where the batch is
/// cut this is a partial sum, and the algebra reduces it, forward and backward, as it does any other.
struct BatchSums : Base {
  static constexpr auto name = "batch_sums";
  static constexpr auto equation = "bc*->c";
  static constexpr bool reads_x = true, sums_batch = true;
  static constexpr Shape output(Shape x) { return Shape(2, x[0]); }

  template <Local L, class Ctx, class T> CLEAVE_HD static void forward(Ctx ctx, Operands<T> const& t) {
    using A = tensor::accumulate_t<T>;
    constexpr long channels = L.x[0], below = L.x.stride(0);
    ctx.each(channels, [&](long c) {
      A sum = 0, squares = 0;
      for (long b = 0; b < L.rows; ++b) {
        for (long i = 0; i < below; ++i) {
          A const v = static_cast<A>(t.x[(b * channels + c) * below + i]);
          sum += v;
          squares += v * v;
        }
      }
      t.stats[c] = sum;
      t.stats[channels + c] = squares;
    });
  }
  template <Local L, class Ctx, class T> CLEAVE_HD static void backward_input(Ctx ctx, Operands<T> const& t) {
    using A = tensor::accumulate_t<T>;
    constexpr long channels = L.x[0], below = L.x.stride(0);
    ctx.each(L.rows * L.x.size(), [&](long e) {
      long const c = e / below % channels;
      t.dx[e] = static_cast<T>(t.dstats[c] + A{2} * t.dstats[channels + c] * static_cast<A>(t.x[e]));
    });
  }
};

/// "bc*,c->bc*", with the sums as second input. Keeps a running mean and variance (momentum 0.1, variance unbiased)
/// for evaluation. Source: Ioffe, Szegedy, "Batch normalization", 2015, algorithms 1 and 2; epsilon 1e-5.
struct Normalise : Base {
  static constexpr auto name = "batch_norm";
  static constexpr auto equation = "bc*,c->bc*";
  static constexpr int inputs = 2, weights = 2, states = 2;
  static constexpr bool reads_x = true;
  static constexpr double epsilon = 1e-5, momentum = 0.1;
  static constexpr Shape output(Shape x) { return x; }
  static constexpr Shape state(Shape x) { return Shape(x[0]); }
  static constexpr Weight weight(int which, Shape x) {
    return {Shape(x[0]), which == 0 ? Start::Ones : Start::Zeros, 1, 1};
  }

  template <class A> struct Moments { A mean, inverse; };
  template <Local L, class T> CLEAVE_HD static Moments<tensor::accumulate_t<T>> moments(Operands<T> const& t, long c) {
    using A = tensor::accumulate_t<T>;
    constexpr long channels = L.x[0];
    constexpr A n = static_cast<A>(L.batch) * static_cast<A>(L.x.stride(0));
    A const mean = t.pass->training ? t.stats[c] / n : t.state0[c];
    A const variance = t.pass->training ? t.stats[channels + c] / n - mean * mean : t.state1[c];
    return {mean, A{1} / std::sqrt((variance > A{0} ? variance : A{0}) + static_cast<A>(epsilon))};
  }

  template <Local L, class Ctx, class T> CLEAVE_HD static void forward(Ctx ctx, Operands<T> const& t) {
    using A = tensor::accumulate_t<T>;
    constexpr long channels = L.x[0], below = L.x.stride(0);
    ctx.each(L.rows * channels, [&](long r) {
      long const c = r % channels;
      auto const m = moments<L>(t, c);
      A const scale = m.inverse * static_cast<A>(t.w0[c]);
      for (long i = 0; i < below; ++i) {
        A const v = static_cast<A>(t.x[r * below + i]);
        t.y[r * below + i] = static_cast<T>((v - m.mean) * scale + static_cast<A>(t.w1[c]));
      }
    });
    if (t.pass->training && t.where.first_slice) keep<L>(ctx, t);
  }
  /// The batch's mean and variance into the running ones.
  template <Local L, class Ctx, class T> CLEAVE_HD static void keep(Ctx ctx, Operands<T> const& t) {
    using A = tensor::accumulate_t<T>;
    constexpr long channels = L.x[0];
    ctx.each(channels, [&](long c) {
      constexpr A n = static_cast<A>(L.batch) * static_cast<A>(L.x.stride(0)), old = static_cast<A>(1 - momentum);
      A const mean = t.stats[c] / n, variance = t.stats[channels + c] / n - mean * mean;
      t.state0[c] = old * t.state0[c] + static_cast<A>(momentum) * mean;
      t.state1[c] = old * t.state1[c] + static_cast<A>(momentum) * variance * (n > A{1} ? n / (n - A{1}) : A{1});
    });
  }
  /// The part of dx that does not pass through the sums.
  template <Local L, class Ctx, class T> CLEAVE_HD static void backward_input(Ctx ctx, Operands<T> const& t) {
    using A = tensor::accumulate_t<T>;
    constexpr long channels = L.x[0], below = L.x.stride(0);
    ctx.each(L.rows * channels, [&](long r) {
      long const c = r % channels;
      A const scale = moments<L>(t, c).inverse * static_cast<A>(t.w0[c]);
      for (long i = 0; i < below; ++i)
        t.dx[r * below + i] = static_cast<T>(static_cast<A>(t.dy[r * below + i]) * scale);
    });
  }
  /// dw0, dw1 and the gradient of the sums, all over this slice.
  template <Local L, class Ctx, class T> CLEAVE_HD static void backward_weight(Ctx ctx, Operands<T> const& t) {
    using A = tensor::accumulate_t<T>;
    constexpr long channels = L.x[0], below = L.x.stride(0);
    ctx.each(channels, [&](long c) {
      auto const m = moments<L>(t, c);
      A shift = 0, scale = 0;
      for (long b = 0; b < L.rows; ++b) {
        for (long i = 0; i < below; ++i) {
          A const dy = static_cast<A>(t.dy[(b * channels + c) * below + i]);
          shift += dy;
          scale += dy * (static_cast<A>(t.x[(b * channels + c) * below + i]) - m.mean) * m.inverse;
        }
      }
      Gradients<A> const g = gradients<L>(t, c, shift, scale);
      t.dw0[c] = g.scale;
      t.dw1[c] = g.shift;
      t.dstats[c] = g.sum;
      t.dstats[channels + c] = g.squares;
    });
  }
  template <class A> struct Gradients { A scale, shift, sum, squares; };
  /// Of channel c, from its sums of dy and of dy (x - mean) * inverse.
  template <Local L, class T, class A>
  CLEAVE_HD static Gradients<A> gradients(Operands<T> const& t, long c, A shift, A scale) {
    constexpr A n = static_cast<A>(L.batch) * static_cast<A>(L.x.stride(0));
    auto const m = moments<L>(t, c);
    A const w = static_cast<A>(t.w0[c]) * m.inverse;
    A const dmean = -w * shift, dvariance = A{-0.5} * w * scale * m.inverse;
    return {scale, shift, (dmean - A{2} * m.mean * dvariance) / n, dvariance / n};
  }
};

}  // namespace cleave::op
