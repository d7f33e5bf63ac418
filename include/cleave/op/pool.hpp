// op/pool.hpp - the maximum or the mean of each K x K window, or the mean of a channel: "bctW->bctW"; samples,
// channels and, without padding, rows of pixels may be split.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../meta/host_device.hpp"
#include "operands.hpp"
#include "windows.hpp"

namespace cleave::op {

template <int K, int Stride, int Pad> struct Window : Base {
  static constexpr auto equation = "bctW->bctW";
  static constexpr Windows windows{K, Stride, Pad};
  static constexpr int kernel = K, reach = K, pad = Pad;
  static constexpr int extent(int n) { return (n + 2 * Pad - K) / Stride + 1; }
  static constexpr Shape output(Shape x) { return Shape(x[0], extent(x[1]), extent(x[2])); }
  /// The first and one past the last window that covers position p, of n windows.
  CLEAVE_HD static constexpr int first(int p) { return p + Pad < K ? 0 : (p + Pad - K) / Stride + 1; }
  CLEAVE_HD static constexpr int past(int p, int n) { return (p + Pad) / Stride + 1 < n ? (p + Pad) / Stride + 1 : n; }
};

/// The first of equal values in row order wins. Padding never wins.
template <int K, int Stride = K, int Pad = 0> struct MaxWindow : Window<K, Stride, Pad> {
  using W = Window<K, Stride, Pad>;
  static constexpr auto name = "max_pool";
  static constexpr auto equation = Pad == 0 ? W::equation : "bcHW->bcHW";
  using of_padded = MaxWindow;
  static constexpr bool keeps_zeros = true;
  static constexpr long aux(Shape, Shape y) { return y.size(); }  // the position of the maximum in its window

  template <Local L, class Ctx, class T> CLEAVE_HD static void forward(Ctx ctx, Operands<T> const& t) {
    using A = tensor::accumulate_t<T>;
    ctx.each(L.rows * L.y.size(), [&](long e) {
      int const col = static_cast<int>(e % L.y[2]), row = static_cast<int>(e / L.y[2] % L.y[1]);
      T const* const x = t.x + e / L.y.stride(0) * L.x.stride(0);
      int const h0 = row * Stride - Pad, w0 = col * Stride - Pad;
      int best = -1;
      A top = 0;
      for (int k = h0 < 0 ? -h0 : 0; k < K && h0 + k < L.x[1]; ++k) {
        for (int l = w0 < 0 ? -w0 : 0; l < K && w0 + l < L.x[2]; ++l) {
          A const v = static_cast<A>(x[(h0 + k) * L.x[2] + w0 + l]);
          if (best < 0 || v > top || v != v) {  // keeps a NaN
            top = v;
            best = k * K + l;
          }
        }
      }
      t.y[e] = static_cast<T>(top);
      t.aux[e] = static_cast<A>(best);
    });
  }
  template <Local L, class Ctx, class T> CLEAVE_HD static void backward_input(Ctx ctx, Operands<T> const& t) {
    using A = tensor::accumulate_t<T>;
    ctx.each(L.rows * L.x.size(), [&](long e) {
      int const w = static_cast<int>(e % L.x[2]), h = static_cast<int>(e / L.x[2] % L.x[1]);
      long const plane = e / L.x.stride(0) * L.y.stride(0);
      A sum = 0;
      for (int row = W::first(h); row < W::past(h, L.y[1]); ++row) {
        for (int col = W::first(w); col < W::past(w, L.y[2]); ++col) {
          long const o = plane + row * L.y[2] + col;
          int const here = (h - (row * Stride - Pad)) * K + w - (col * Stride - Pad);
          sum += t.aux[o] == static_cast<A>(here) ? static_cast<A>(t.dy[o]) : A{0};
        }
      }
      t.dx[e] = static_cast<T>(sum);
    });
  }
};

/// Padding counts as zeros: every window is divided by K * K.
template <int K, int Stride = K, int Pad = 0> struct MeanWindow : Window<K, Stride, Pad> {
  using W = Window<K, Stride, Pad>;
  static constexpr auto name = "avg_pool";
  using of_padded = MeanWindow<K, Stride, 0>;
  static constexpr bool linear = true;

  template <Local L, class Ctx, class T> CLEAVE_HD static void forward(Ctx ctx, Operands<T> const& t) {
    using A = tensor::accumulate_t<T>;
    ctx.each(L.rows * L.y.size(), [&](long e) {
      int const col = static_cast<int>(e % L.y[2]), row = static_cast<int>(e / L.y[2] % L.y[1]);
      T const* const x = t.x + e / L.y.stride(0) * L.x.stride(0);
      int const h0 = row * Stride - Pad, w0 = col * Stride - Pad;
      A sum = 0;
      for (int k = h0 < 0 ? -h0 : 0; k < K && h0 + k < L.x[1]; ++k) {
        for (int l = w0 < 0 ? -w0 : 0; l < K && w0 + l < L.x[2]; ++l) {
          sum += static_cast<A>(x[(h0 + k) * L.x[2] + w0 + l]);
        }
      }
      t.y[e] = static_cast<T>(sum / A{K * K});
    });
  }
  template <Local L, class Ctx, class T> CLEAVE_HD static void backward_input(Ctx ctx, Operands<T> const& t) {
    using A = tensor::accumulate_t<T>;
    ctx.each(L.rows * L.x.size(), [&](long e) {
      int const w = static_cast<int>(e % L.x[2]), h = static_cast<int>(e / L.x[2] % L.x[1]);
      long const plane = e / L.x.stride(0) * L.y.stride(0);
      A sum = 0;
      for (int row = W::first(h); row < W::past(h, L.y[1]); ++row) {
        for (int col = W::first(w); col < W::past(w, L.y[2]); ++col) {
          sum += static_cast<A>(t.dy[plane + row * L.y[2] + col]);
        }
      }
      t.dx[e] = static_cast<T>(sum / A{K * K});
    });
  }
};

/// The mean of each channel: one number.
struct ChannelMean : Base {
  static constexpr auto name = "global_avg_pool";
  static constexpr auto equation = "bcHW->bcHW";
  static constexpr bool linear = true, of_images = true;
  static constexpr Shape output(Shape x) { return Shape(x[0], 1, 1); }

  template <Local L, class Ctx, class T> CLEAVE_HD static void forward(Ctx ctx, Operands<T> const& t) {
    using A = tensor::accumulate_t<T>;
    constexpr long n = L.x.stride(0);
    ctx.each(L.rows * L.x[0], [&](long e) {
      A sum = 0;
      for (long i = 0; i < n; ++i) sum += static_cast<A>(t.x[e * n + i]);
      t.y[e] = static_cast<T>(sum / A{n});
    });
  }
  template <Local L, class Ctx, class T> CLEAVE_HD static void backward_input(Ctx ctx, Operands<T> const& t) {
    using A = tensor::accumulate_t<T>;
    constexpr long n = L.x.stride(0);
    ctx.each(L.rows * L.x.size(), [&](long e) { t.dx[e] = static_cast<T>(static_cast<A>(t.dy[e / n]) / A{n}); });
  }
};

}  // namespace cleave::op
