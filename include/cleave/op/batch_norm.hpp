// op/batch_norm.hpp - batch normalisation as two operations, so that its sums over the batch are placed like others.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cmath>

#include "../meta/host_device.hpp"
#include "operands.hpp"

namespace cleave::op {

/// "bctW->Sc": per channel the sum and the sum of squares over the batch and the positions, as (2, c). If the batch or
/// rows of pixels are split this is a partial sum, which the algebra reduces, forward and backward, like any other.
/// Both are sums in tensor::batch_sum_t, so that their difference, the variance, stays accurate.
struct BatchSums : Base {
  static constexpr auto name = "batch_sums";
  static constexpr auto equation = "bctW->Sc";
  static constexpr bool reads_x = true, reads_y = true, sums_batch = true, keeps_zeros = true;
  static constexpr Shape output(Shape x) { return Shape(2, x[0]); }

  /// The number of summands for each channel. Of images whose rows are split L.batch counts each part as a sample.
  template <Local L> static constexpr long count = long{L.batch} * L.x.stride(0);

  template <Local L, class Ctx, class T> CLEAVE_HD static void forward(Ctx ctx, Operands<T> const& t) {
    using S = tensor::batch_sum_t<T>;
    constexpr long channels = L.x[0], below = L.x.stride(0);
    ctx.each(channels, [&](long c) {
      S sum{0}, squares{0};
      for (long b = 0; b < L.rows; ++b) {
        for (long i = 0; i < below; ++i) {
          S const v = static_cast<S>(t.x[(b * channels + c) * below + i]);
          sum += v;
          squares += v * v;
        }
      }
      t.stats[c] = sum;
      t.stats[channels + c] = squares;
    });
  }
  /// dstats holds the gradients of the mean and of the variance, both divided by the count: the variance does not
  /// depend on the mean, so there is no cancellation.
  template <Local L, class Ctx, class T> CLEAVE_HD static void backward_input(Ctx ctx, Operands<T> const& t) {
    using A = tensor::accumulate_t<T>;
    using S = tensor::batch_sum_t<T>;
    constexpr long channels = L.x[0], below = L.x.stride(0);
    ctx.each(L.rows * L.x.size(), [&](long e) {
      long const c = e / below % channels;
      A const from_mean = static_cast<A>(static_cast<S>(t.x[e]) - tensor::mean_of(t.stats[c], count<L>));
      t.dx[e] = static_cast<T>(static_cast<A>(t.dstats[c]) + A{2} * static_cast<A>(t.dstats[channels + c]) * from_mean);
    });
  }
};

/// "bctW,Sc,c->bctW", with the sums as second input. Keeps a running mean and variance (momentum 0.1, variance
/// unbiased) for evaluation. Source: Ioffe, Szegedy, "Batch normalization", 2015, algorithms 1 and 2; epsilon 1e-5.
struct Normalise : Base {
  static constexpr auto name = "batch_norm";
  static constexpr auto equation = "bctW,Sc,c->bctW";
  static constexpr int inputs = 2, weights = 2, states = 2;
  static constexpr bool reads_x = true, keeps_zeros = true;
  static constexpr double epsilon = 1e-5, momentum = 0.1;
  static constexpr Shape output(Shape x) { return x; }
  static constexpr Shape state(Shape x) { return Shape(x[0]); }
  static constexpr Weight weight(int which, Shape x) {
    return {Shape(x[0]), which == 0 ? Start::Ones : Start::Zeros, 1, 1};
  }

  /// The mean is high + low: the accumulator's format has no room for the last digits of a large one.
  template <class A> struct Moments {
    A high, low, inverse;
    CLEAVE_HD A from_mean(A x) const { return x - high - low; }
  };
  template <class S> struct MeanAndVariance { S mean, variance; };
  /// The batch's moments, from its sums.
  template <Local L, class T>
  CLEAVE_HD static MeanAndVariance<tensor::batch_sum_t<T>> of_batch(Operands<T> const& t, long c) {
    using S = tensor::batch_sum_t<T>;
    constexpr long n = BatchSums::count<L>;
    S const mean = tensor::mean_of(t.stats[c], n), variance = tensor::mean_of(t.stats[L.x[0] + c], n) - mean * mean;
    return {mean, variance < S{0} ? S{0} : variance};  // keeps a NaN
  }
  template <class A> CLEAVE_HD static A inverse(A variance) {
    return A{1} / std::sqrt((variance < A{0} ? A{0} : variance) + static_cast<A>(epsilon));
  }
  /// The moments to normalise by: the batch's in training, the running ones otherwise.
  template <Local L, class T> CLEAVE_HD static Moments<tensor::accumulate_t<T>> moments(Operands<T> const& t, long c) {
    using A = tensor::accumulate_t<T>;
    using S = tensor::batch_sum_t<T>;
    if (!t.pass->training) return {t.state0[c], A{0}, inverse(t.state1[c])};
    auto const batch = of_batch<L>(t, c);
    A const high = static_cast<A>(batch.mean);
    return {high, static_cast<A>(batch.mean - static_cast<S>(high)), inverse(static_cast<A>(batch.variance))};
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
        t.y[r * below + i] = static_cast<T>(m.from_mean(v) * scale + static_cast<A>(t.w1[c]));
      }
    });
    if (t.pass->training && t.where.first_slice) keep<L>(ctx, t);
  }
  /// Updates the running mean and variance by the batch's.
  template <Local L, class Ctx, class T> CLEAVE_HD static void keep(Ctx ctx, Operands<T> const& t) {
    using A = tensor::accumulate_t<T>;
    constexpr long channels = L.x[0], n = BatchSums::count<L>;
    ctx.each(channels, [&](long c) {
      constexpr A old = static_cast<A>(1 - momentum), is = static_cast<A>(momentum),
                  unbiased = n > 1 ? static_cast<A>(n) / static_cast<A>(n - 1) : A{1};
      auto const batch = of_batch<L>(t, c);
      t.state0[c] = old * t.state0[c] + is * static_cast<A>(batch.mean);
      t.state1[c] = old * t.state1[c] + is * static_cast<A>(batch.variance) * unbiased;
    });
  }
  /// The part of dx that does not depend on the sums.
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
  /// dw0, dw1 and the gradients that BatchSums reads, all over this slice.
  template <Local L, class Ctx, class T> CLEAVE_HD static void backward_weight(Ctx ctx, Operands<T> const& t) {
    using A = tensor::accumulate_t<T>;
    using S = tensor::batch_sum_t<T>;
    constexpr long channels = L.x[0], below = L.x.stride(0);
    ctx.each(channels, [&](long c) {
      auto const m = moments<L>(t, c);
      A shift = 0, scale = 0;
      for (long b = 0; b < L.rows; ++b) {
        for (long i = 0; i < below; ++i) {
          A const dy = static_cast<A>(t.dy[(b * channels + c) * below + i]);
          shift += dy;
          scale += dy * m.from_mean(static_cast<A>(t.x[(b * channels + c) * below + i])) * m.inverse;
        }
      }
      Gradients<A, S> const g = gradients<L>(t, c, shift, scale);
      t.dw0[c] = g.scale;
      t.dw1[c] = g.shift;
      t.dstats[c] = g.mean;
      t.dstats[channels + c] = g.variance;
    });
  }
  template <class A, class S> struct Gradients {
    A scale, shift;
    S mean, variance;  // divided by the count
  };
  /// For channel c, from its sums of dy and of dy (x - mean) * inverse.
  template <Local L, class T, class A>
  CLEAVE_HD static Gradients<A, tensor::batch_sum_t<T>> gradients(Operands<T> const& t, long c, A shift, A scale) {
    using S = tensor::batch_sum_t<T>;
    constexpr A n = static_cast<A>(BatchSums::count<L>);
    auto const m = moments<L>(t, c);
    A const w = static_cast<A>(t.w0[c]) * m.inverse;
    return {scale, shift, static_cast<S>(-w * shift / n), static_cast<S>(A{-0.5} * w * scale * m.inverse / n)};
  }
};

}  // namespace cleave::op
