// backend/host/pool.hpp - max pooling plane by plane: windows as runs of columns on the way forward, a scatter on the way back.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <limits>

#include "../../op/pool.hpp"
#include "each.hpp"
#include "kernel.hpp"

namespace cleave::backend::host {

/// Same results as the definition, bit for bit: an input's gradients are added in the order of the windows.
template <int K, int Stride, int Pad> struct Kernel<op::MaxWindow<K, Stride, Pad>> {
  template <op::Local L, bool, class, class T> static void forward(Context, op::Operands<T> const& t) {
    using A = tensor::accumulate_t<T>;
    constexpr int rows = L.y[1], columns = L.y[2], lanes = (columns + 15) / 16 * 16, reach = lanes + (K - 1) / Stride;
    A line[Stride][reach], top[lanes],
        where[lanes];  // a padded row of the image, its columns sorted by column % Stride
    for (long plane = 0; plane < L.rows * L.x[0]; ++plane) {
      T const* const x = t.x + plane * L.x.stride(0);
      for (int row = 0; row < rows; ++row) {
        for (int c = 0; c < lanes; ++c) {
          top[c] = -std::numeric_limits<A>::infinity();
          where[c] = 0;
        }
        for (int k = 0; k < K; ++k) {
          int const h = row * Stride - Pad + k;
          if (h < 0 || h >= L.x[1]) continue;
          for (int c = 0; c < reach; ++c) {
            for (int s = 0; s < Stride; ++s) {
              int const w = c * Stride + s - Pad;
              line[s][c] =
                  w >= 0 && w < L.x[2] ? static_cast<A>(x[h * L.x[2] + w]) : -std::numeric_limits<A>::infinity();
            }
          }
          for (int l = 0; l < K; ++l) {
            A const* const v = line[l % Stride] + l / Stride;
            A const here = static_cast<A>(k * K + l);
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
      each(inputs, [&](long i) { t.dx[plane * inputs + i] = static_cast<T>(sum[i]); });
    }
  }
  template <op::Local, class T> static void backward_weight(Context, op::Operands<T> const&) {}
};

}  // namespace cleave::backend::host
