// backend/host/kernels/pool.hpp - pooling plane by plane: windows as runs of columns forward, a scatter backward.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <limits>
#include <utility>

#include "../../../op/pool.hpp"
#include "../../../tensor/each.hpp"
#include "kernel.hpp"

namespace cleave::backend::host {

/// Of a row of `windows` windows, those whose column `column` is one of the row's `width`: [begin, end).
struct WindowRange {
  int begin, end;
  constexpr WindowRange(int column, int stride, int pad, int width, int windows)
      : begin(column < pad ? (pad - column + stride - 1) / stride : 0),
        end(width + pad > column ? (width + pad - column + stride - 1) / stride : 0) {
    end = end < windows ? end : windows;
  }
};

/// Same results as the definition, bit for bit: an input's gradients are added in the order of the windows.
template <int K, int Stride, int Pad> struct Kernel<op::MaxWindow<K, Stride, Pad>> {
  /// A band of rows is sorted before any of it is read: a vector load of recent scalar stores would stall.
  template <op::Local L, bool, class, class T> static void forward(Context context, op::Operands<T> const& t) {
    using A = tensor::accumulate_t<T>;
    constexpr int rows = L.y[1], columns = L.y[2], lanes = (columns + 15) / 16 * 16, reach = lanes + (K - 1) / Stride;
    constexpr int most = ((32 << 10) / (Stride * reach * static_cast<int>(sizeof(A))) - K) / Stride + 1;
    constexpr int band = most < 1 ? 1 : most < rows ? most : rows, held = (band - 1) * Stride + K;
    static_assert(long{held} * Stride * reach * static_cast<long>(sizeof(A)) <= (1L << 20),
                  "a row of this image is larger than the workspace");
    // (held, Stride, reach): padded rows of the image, their columns sorted by column % Stride
    A* const sorted = reinterpret_cast<A*>(context.workspace);
    for (long i = 0; i < long{held} * Stride * reach; ++i) sorted[i] = -std::numeric_limits<A>::infinity();
    A top[lanes], where[lanes];
    for (long plane = 0; plane < L.rows * L.x[0]; ++plane) {
      T const* const x = t.x + plane * L.x.stride(0);
      for (int first = 0; first < rows; first += band) {
        int const past = first + band < rows ? first + band : rows, above = first * Stride - Pad;
        for (int h = above < 0 ? 0 : above; h < (past - 1) * Stride - Pad + K && h < L.x[1]; ++h) {
          sort_columns<L.x[2], reach>(sorted + long{h - above} * Stride * reach, x + h * L.x[2],
                                      std::make_integer_sequence<int, Stride>{});
        }
        for (int row = first; row < past; ++row) {
          for (int c = 0; c < lanes; ++c) {
            top[c] = -std::numeric_limits<A>::infinity();
            where[c] = 0;
          }
          for (int k = 0; k < K; ++k) {
            int const h = row * Stride - Pad + k;
            if (h < 0 || h >= L.x[1]) continue;
            for (int l = 0; l < K; ++l) {
              A const* const v = sorted + (long{h - above} * Stride + l % Stride) * reach + l / Stride;
              A const here = static_cast<A>(k * K + l);
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC unroll 1  // if fully unrolled, the sixteen lanes are not vectorised
#endif
              for (int c = 0; c < lanes; ++c) {
                bool const wins = v[c] > top[c] || v[c] != v[c];
                top[c] = wins ? v[c] : top[c];
                where[c] = wins ? here : where[c];
              }
            }
          }
          long const to = plane * L.y.stride(0) + row * columns;
          for (int c = 0; c < columns; ++c) {
            t.y[to + c] = static_cast<T>(top[c]);
            t.aux[to + c] = where[c];
          }
        }
      }
    }
  }
  template <op::Local L, class T> static void backward_input(Context c, op::Operands<T> const& t) {
    using A = tensor::accumulate_t<T>;
    constexpr long inputs = L.x.stride(0), outputs = L.y.stride(0);
    static_assert(inputs * static_cast<long>(sizeof(A)) <= (1L << 20),
                  "a plane of this image is larger than the workspace");
    A* const sum = reinterpret_cast<A*>(c.workspace);
    for (long plane = 0; plane < L.rows * L.x[0]; ++plane) {
      for (long i = 0; i < inputs; ++i) sum[i] = 0;
      for (long o = 0; o < outputs; ++o) {
        int const where = static_cast<int>(t.aux[plane * outputs + o]), row = static_cast<int>(o) / L.y[2];
        int const h = row * Stride - Pad + where / K, w = (static_cast<int>(o) % L.y[2]) * Stride - Pad + where % K;
        sum[h * L.x[2] + w] += static_cast<A>(t.dy[plane * outputs + o]);
      }
      tensor::each(inputs, [&](long i) { t.dx[plane * inputs + i] = static_cast<T>(sum[i]); });
    }
  }
  template <op::Local, class T> static void backward_weight(Context, op::Operands<T> const&) {}

 private:
  /// to (Stride, Reach): to[s][c] = x[c Stride + s - Pad] where the row has it. No test for single elements.
  template <int Width, int Reach, class A, class T, int... S>
  static void sort_columns(A* to, T const* x, std::integer_sequence<int, S...>) {
    (copy_columns<Width, Reach, S>(to + S * Reach, x), ...);
  }
  template <int Width, int Reach, int S, class A, class T> static void copy_columns(A* to, T const* x) {
    constexpr WindowRange there(S, Stride, Pad, Width, Reach);
    for (int c = there.begin; c < there.end; ++c) to[c] = static_cast<A>(x[c * Stride + S - Pad]);
  }
};

/// Same results as the definition, bit for bit: each sum is taken in its order.
template <int K, int Stride, int Pad> struct Kernel<op::MeanWindow<K, Stride, Pad>> {
  template <op::Local L, bool, class, class T> static void forward(Context, op::Operands<T> const& t) {
    using A = tensor::accumulate_t<T>;
    constexpr int rows = L.y[1], columns = L.y[2];
    A sum[columns];
    for (long plane = 0; plane < L.rows * L.x[0]; ++plane) {
      for (int row = 0; row < rows; ++row) {
        for (int c = 0; c < columns; ++c) sum[c] = 0;
        for (int k = 0; k < K; ++k) {
          int const h = row * Stride - Pad + k;
          if (h < 0 || h >= L.x[1]) continue;
          T const* const x = t.x + plane * L.x.stride(0) + long{h} * L.x[2] - Pad;
          each_column<L, false>([&](int c, int l) { sum[c] += static_cast<A>(x[c * Stride + l]); },
                                std::make_integer_sequence<int, K>{});
        }
        T* const y = t.y + plane * L.y.stride(0) + long{row} * columns;
        for (int c = 0; c < columns; ++c) y[c] = static_cast<T>(sum[c] / A{K * K});
      }
    }
  }
  template <op::Local L, class T> static void backward_input(Context context, op::Operands<T> const& t) {
    using A = tensor::accumulate_t<T>;
    constexpr long inputs = L.x.stride(0);
    constexpr int columns = L.y[2];
    if constexpr (inputs * static_cast<long>(sizeof(A)) > (1L << 20)) {  // than the workspace
      return op::MeanWindow<K, Stride, Pad>::template backward_input<L>(context, t);
    }
    A* const all = reinterpret_cast<A*>(context.workspace);
    for (long plane = 0; plane < L.rows * L.x[0]; ++plane) {
      for (long i = 0; i < inputs; ++i) all[i] = 0;
      for (int row = 0; row < L.y[1]; ++row) {
        T const* const dy = t.dy + plane * L.y.stride(0) + long{row} * columns;
        for (int k = 0; k < K; ++k) {
          int const h = row * Stride - Pad + k;
          if (h < 0 || h >= L.x[1]) continue;
          A* const sum = all + long{h} * L.x[2] - Pad;
          // From the last column of the windows to the first: of an input's windows the first is added first.
          each_column<L, true>([&](int c, int l) { sum[c * Stride + l] += static_cast<A>(dy[c]); },
                               std::make_integer_sequence<int, K>{});
        }
      }
      T* const dx = t.dx + plane * inputs;
      for (long i = 0; i < inputs; ++i) dx[i] = static_cast<T>(all[i] / A{K * K});
    }
  }
  template <op::Local, class T> static void backward_weight(Context, op::Operands<T> const&) {}

 private:
  /// f(c, l) for each window c of a row that has its column l in the image: all of one l together, the last l first if
  /// `Back`.
  template <op::Local L, bool Back, class F, int... Ls>
  static void each_column(F f, std::integer_sequence<int, Ls...>) {
    (of_column<L, (Back ? K - 1 - Ls : Ls)>(f), ...);
  }
  template <op::Local L, int Column, class F> static void of_column(F f) {
    constexpr WindowRange there(Column, Stride, Pad, L.x[2], L.y[2]);
    for (int c = there.begin; c < there.end; ++c) f(c, Column);
  }
};

}  // namespace cleave::backend::host
