// op/transposed_convolve.hpp - the adjoint of a convolution as an operation, "bitW,ioKL->botW": each element of x adds a
// window to y.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "convolve.hpp"

namespace cleave::op {

/// x (b, i, h, w), w (i, o, k, k), y (b, o, h', w'), h' = (h - 1) Stride + K - 2 Pad: y is what a convolution with
/// these numbers and weights gives back as the gradient of its input where x is that of its output. In fp8 x is rounded
/// as gradients are, and dy as values.
template <int Out, int K, int Stride = 1, int Pad = 0, Start How = Start::He> struct TransposedConvolve : Base {
  using Adjoint = Convolve<1, K, Stride, Pad, 1, How>;  // of any number of filters: kernels take that from Local
  static constexpr auto name = "transposed_convolution";
  static constexpr auto equation = "bitW,ioKL->botW";
  static constexpr int weights = 1;
  static constexpr int filters = Out, kernel = K, stride = Stride, reach = K, pad = Pad;
  static constexpr Windows windows{K, Stride, Pad, true};
  /// On an image with so many zeros around it, of whose output the first rows and columns are left out.
  using of_padded = TransposedConvolve<Out, K, Stride, Pad + windows.columns() * Stride, How>;
  static constexpr bool linear = true, contracts = true, reads_x = true;
  static constexpr int extent(int n) { return (n - 1) * Stride + K - 2 * Pad; }
  static constexpr Shape output(Shape x) { return Shape(Out, extent(x[1]), extent(x[2])); }
  /// An output is a sum over about (K / Stride)^2 elements of each channel.
  static constexpr Weight weight(int, Shape x) {
    constexpr int taps = K > Stride ? K * K / (Stride * Stride) : 1;
    return {Shape(x[0], Out, K, K), How, x[0] * taps, Out * taps};
  }

  /// The adjoint's extents and operands.
  CLEAVE_HD static constexpr Local adjoint(Local l) {
    Shape const x = l.x;
    l.x = l.y;
    l.y = x;
    return l;
  }
  template <class T> CLEAVE_HD static Operands<T> adjoint(Operands<T> const& t) {
    Operands<T> a = t;
    a.x = t.dy;
    a.dy = t.x;
    a.y = t.dx;
    a.dx = t.y;
    return a;
  }
  template <Local L, class Ctx, class T> CLEAVE_HD static void forward(Ctx ctx, Operands<T> const& t) {
    Adjoint::template backward_input<adjoint(L)>(ctx, adjoint(t));
  }
  template <Local L, class Ctx, class T> CLEAVE_HD static void backward_input(Ctx ctx, Operands<T> const& t) {
    Adjoint::template forward<adjoint(L)>(ctx, adjoint(t));
  }
  template <Local L, class Ctx, class T> CLEAVE_HD static void backward_weight(Ctx ctx, Operands<T> const& t) {
    Adjoint::template backward_weight<adjoint(L)>(ctx, adjoint(t));
  }
};

}  // namespace cleave::op
