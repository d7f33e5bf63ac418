// op/ghost_norm.hpp - batch normalisation by the statistics of each micro-batch; and a scale and a shift per channel.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "batch_norm.hpp"

namespace cleave::op {

/// "bcHW,c->bcHW": each channel of a micro-batch to mean 0 and variance 1, over its samples and their positions. Its
/// weights are a running mean and a running variance (unbiased), for evaluation: a step moves them by 0.1 of the way to
/// the mean over all its micro-batches. Sources: Hoffer, Hubara, Soudry, "Train longer, generalize better", 2017,
/// algorithm 1; Ioffe, Szegedy, "Batch normalization", 2015; epsilon 1e-5.
struct NormaliseMicroBatch : Base {
  static constexpr auto name = "ghost_batch_norm";
  static constexpr auto equation = "bcHW,c->bcHW";
  static constexpr int weights = 2;
  static constexpr std::string_view weight_names[] = {"running_mean", "running_var"};
  static constexpr bool reads_y = true, keeps_zeros = true;
  static constexpr float averages = static_cast<float>(Normalise::momentum);
  static constexpr Shape output(Shape x) { return x; }
  static constexpr Weight weight(int which, Shape x) {
    return {Shape(x[0]), which == 0 ? Start::Zeros : Start::Ones, 1, 1};
  }
  /// Of a micro-batch, in the place of its first sample: means, unbiased variances, and 1 / deviations.
  static constexpr long aux(Shape x, Shape) { return 3L * x[0]; }
  template <Local L> static constexpr long count = long{L.rows} * L.x.stride(0);  // of each channel

  /// Of channel c, from the sum of its squares around the mean: written to aux.
  template <Local L, class T, class S> CLEAVE_HD static void keep(Operands<T> const& t, long c, S mean, S squares) {
    using A = tensor::accumulate_t<T>;
    constexpr long n = count<L>, channels = L.x[0];
    t.aux[c] = static_cast<A>(mean);
    t.aux[channels + c] = static_cast<A>(tensor::mean_of(squares, n > 1 ? n - 1 : 1));
    t.aux[2 * channels + c] = Normalise::inverse(static_cast<A>(tensor::mean_of(squares, n)));
  }
  template <Local L, class Ctx, class T> CLEAVE_HD static void forward(Ctx ctx, Operands<T> const& t) {
    using A = tensor::accumulate_t<T>;
    using S = tensor::batch_sum_t<T>;
    constexpr long channels = L.x[0], below = L.x.stride(0);
    ctx.each(channels, [&](long c) {
      A mean = static_cast<A>(t.w0[c]), scale = Normalise::inverse(static_cast<A>(t.w1[c]));
      if (t.pass->training) {
        S sum{0}, squares{0};
        for (long b = 0; b < L.rows; ++b) {
          for (long i = 0; i < below; ++i) sum += static_cast<S>(t.x[(b * channels + c) * below + i]);
        }
        S const middle = tensor::mean_of(sum, count<L>);
        for (long b = 0; b < L.rows; ++b) {
          for (long i = 0; i < below; ++i) {
            S const from = static_cast<S>(t.x[(b * channels + c) * below + i]) - middle;
            squares += from * from;
          }
        }
        keep<L>(t, c, middle, squares);
        mean = t.aux[c], scale = t.aux[2 * channels + c];
      }
      for (long b = 0; b < L.rows; ++b) {
        for (long i = 0; i < below; ++i) {
          long const e = (b * channels + c) * below + i;
          t.y[e] = static_cast<T>((static_cast<A>(t.x[e]) - mean) * scale);
        }
      }
    });
  }
  template <Local L, class Ctx, class T> CLEAVE_HD static void backward_input(Ctx ctx, Operands<T> const& t) {
    using A = tensor::accumulate_t<T>;
    using S = tensor::batch_sum_t<T>;
    constexpr long channels = L.x[0], below = L.x.stride(0);
    ctx.each(channels, [&](long c) {
      S sum{0}, along{0};
      for (long b = 0; b < L.rows; ++b) {
        for (long i = 0; i < below; ++i) {
          long const e = (b * channels + c) * below + i;
          sum += static_cast<S>(t.dy[e]);
          along += static_cast<S>(t.dy[e]) * static_cast<S>(t.y[e]);
        }
      }
      A const shift = static_cast<A>(tensor::mean_of(sum, count<L>)),
              slope = static_cast<A>(tensor::mean_of(along, count<L>)), scale = t.aux[2 * channels + c];
      for (long b = 0; b < L.rows; ++b) {
        for (long i = 0; i < below; ++i) {
          long const e = (b * channels + c) * below + i;
          t.dx[e] = static_cast<T>((static_cast<A>(t.dy[e]) - shift - static_cast<A>(t.y[e]) * slope) * scale);
        }
      }
    });
  }
  /// The micro-batch's part of the means over a step.
  template <Local L, class Ctx, class T> CLEAVE_HD static void backward_weight(Ctx ctx, Operands<T> const& t) {
    using A = tensor::accumulate_t<T>;
    constexpr long channels = L.x[0];
    ctx.each(channels, [&](long c) {
      A const share = t.scale * static_cast<A>(L.rows);
      t.dw0[c] = share * t.aux[c];
      t.dw1[c] = share * t.aux[channels + c];
    });
  }
};

/// y = scale * x + shift per channel: "bcHW,c->bcHW".
struct ScaleAndShift : Base {
  static constexpr auto name = "scale_and_shift";
  static constexpr auto equation = "bcHW,c->bcHW";
  static constexpr int weights = 2;
  static constexpr bool reads_x = true, keeps_zeros = true;
  static constexpr Shape output(Shape x) { return x; }
  static constexpr Weight weight(int which, Shape x) {
    return {Shape(x[0]), which == 0 ? Start::Ones : Start::Zeros, 1, 1};
  }

  template <Local L, class Ctx, class T> CLEAVE_HD static void forward(Ctx ctx, Operands<T> const& t) {
    using A = tensor::accumulate_t<T>;
    constexpr long channels = L.x[0], below = L.x.stride(0);
    ctx.each(L.rows * channels, [&](long r) {
      A const scale = static_cast<A>(t.w0[r % channels]), shift = static_cast<A>(t.w1[r % channels]);
      for (long i = 0; i < below; ++i)
        t.y[r * below + i] = static_cast<T>(static_cast<A>(t.x[r * below + i]) * scale + shift);
    });
  }
  template <Local L, class Ctx, class T> CLEAVE_HD static void backward_input(Ctx ctx, Operands<T> const& t) {
    using A = tensor::accumulate_t<T>;
    constexpr long channels = L.x[0], below = L.x.stride(0);
    ctx.each(L.rows * channels, [&](long r) {
      A const scale = static_cast<A>(t.w0[r % channels]);
      for (long i = 0; i < below; ++i)
        t.dx[r * below + i] = static_cast<T>(static_cast<A>(t.dy[r * below + i]) * scale);
    });
  }
  template <Local L, class Ctx, class T> CLEAVE_HD static void backward_weight(Ctx ctx, Operands<T> const& t) {
    using A = tensor::accumulate_t<T>;
    constexpr long channels = L.x[0], below = L.x.stride(0);
    ctx.each(channels, [&](long c) {
      A scale = 0, shift = 0;
      for (long b = 0; b < L.rows; ++b) {
        for (long i = 0; i < below; ++i) {
          long const e = (b * channels + c) * below + i;
          scale += static_cast<A>(t.dy[e]) * static_cast<A>(t.x[e]);
          shift += static_cast<A>(t.dy[e]);
        }
      }
      t.dw0[c] = scale;
      t.dw1[c] = shift;
    });
  }
};

}  // namespace cleave::op
