// backend/host/kernels/transposed_convolve.hpp - the transposed convolution on the host: one product, whose windows are added where they lie.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../../../op/transposed_convolve.hpp"
#include "convolve.hpp"
#include "gemm.hpp"

namespace cleave::backend::host {

/// Adds each finished tile of (pixels, taps) to an image (channels, H, W), whose windows of K x K, side by side every
/// Stride, begin at -Pad; what of them is outside is left out. Pixels are those of a row after the other, `Width` in
/// each, and taps are (channel, row, column).
template <class E, int H, int W, int Width, int K, int Stride, int Pad> struct AddWindows {
  static constexpr bool in_place = false, ends = true;
  E* image;

  template <class S> void done(E const* sum, long row, long i, long j, int rows, int columns) const {
    for (int r = 0; r < rows; ++r) {
      int const top = static_cast<int>((i + r) / Width) * Stride - Pad,
                left = static_cast<int>((i + r) % Width) * Stride - Pad;
      for (int c = 0; c < columns;) {
        int const tap = static_cast<int>(j) + c, l = tap % K, h = top + tap / K % K;
        int const run = columns - c < K - l ? columns - c : K - l;
        if (h >= 0 && h < H) {
          int const begin = left + l < 0 ? -left - l : 0, end = left + l + run > W ? W - left - l : run;
          E* const to = image + (long{tap / (K * K)} * H + h) * W + left + l;
          for (int x = begin; x < end; ++x) to[x] += sum[r * row + c + x];
        }
        c += run;
      }
    }
  }
};

/// Its definition, by kernels. With a stride, the convolution's backward_input would multiply zeros between windows.
template <class Op> struct ByAdjoint {
  using Of = Kernel<typename Op::Adjoint>;
  template <op::Local L, class T> static void forward(Context c, op::Operands<T> const& t) {
    if constexpr (std::is_same_v<T, tensor::accumulate_t<T>> && Op::stride > 1) {
      constexpr int in = L.x[0], pixels = L.x[1] * L.x[2], taps = L.y[0] * Op::kernel * Op::kernel;
      using Out = AddWindows<T, L.y[1], L.y[2], L.x[2], Op::kernel, Op::stride, Op::pad>;
      for (long b = 0; b < L.rows; ++b) {
        T* const y = t.y + b * L.y.size();
        for (long e = 0; e < L.y.size(); ++e) y[e] = T{0};
        gemm<T, pixels, taps, in>(c.workspace, columns<pixels>(t.x + b * L.x.size(), tensor::Factor<T>{}),
                                  columns<taps>(t.w0, tensor::Factor<T>{}), Out{y});
      }
    } else {
      Of::template backward_input<Op::adjoint(L)>(c, Op::adjoint(t));
    }
  }
  template <op::Local L, class T> static void backward_input(Context c, op::Operands<T> const& t) {
    Of::template forward<Op::adjoint(L), false, void>(c, Op::adjoint(t));
  }
  template <op::Local L, class T> static void backward_weight(Context c, op::Operands<T> const& t) {
    Of::template backward_weight<Op::adjoint(L)>(c, Op::adjoint(t));
  }
};
template <int Out, int K, int Stride, int Pad, op::Start How>
struct Kernel<op::TransposedConvolve<Out, K, Stride, Pad, How>>
    : ByDefinition<ByAdjoint<op::TransposedConvolve<Out, K, Stride, Pad, How>>> {};

}  // namespace cleave::backend::host
