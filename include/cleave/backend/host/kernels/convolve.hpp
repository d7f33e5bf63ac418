// backend/host/kernels/convolve.hpp - the convolution on the host: three matrix products that read patches straight from images.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../../../op/convolve.hpp"
#include "correlate.hpp"
#include "correlate_weight.hpp"
#include "factor.hpp"
#include "finish.hpp"
#include "kernel.hpp"
#include "library.hpp"

namespace cleave::backend::host {

/// The filters w (o, i, k, k) of one group, as the matrix (i, o k k) that maps dy to dx: each rotated by 180 degrees.
template <class T> struct Turned {
  T const* w;
  long in, window;  // i, k k
  [[no_unique_address]] tensor::Factor<T> f;

  template <class S, class E, int Width> void pack(E* to, long first, int, long k, long depth) const {
    T const* filter = w + (k / window * in + first) * window;
    for (long s = 0, tap = k % window; s < depth; ++s, to += Width) {
      T const* const from = filter + window - 1 - tap;
      for (int i = 0; i < Width; ++i) to[i] = f(from[i * window]);
      if (++tap == window) tap = 0, filter += in * window;
    }
  }
};

/// x (b, i, h, w), w (o, i/groups, k, k), y (b, o, h', w').
template <int Out, int K, int Stride, int Pad, int Groups, op::Start How, int Dilation>
struct Kernel<op::Convolve<Out, K, Stride, Pad, Groups, How, Dilation>> {
  using Op = op::Convolve<Out, K, Stride, Pad, Groups, How, Dilation>;

  template <op::Local L, bool WithBias, class Map, class T> static void forward(Context c, op::Operands<T> const& t) {
    using E = tensor::accumulate_t<T>;
    constexpr int in = L.w0[1], groups = L.x[0] / in, out = L.y[0] / groups, k = in * K * K;
    if constexpr (L.in_blocks == 0 && convolves_by_library<T>) {
      by_library_pass<L, LibraryConvolution::Pass::Forward>(t.x, t.w0, t.y);
      if constexpr (WithBias || !std::is_void_v<Map>) {
        tensor::each(L.rows * L.y.size(), [&](long e) {
          E v = t.y[e];
          if constexpr (WithBias) v += t.bias[e % L.y.size() / L.y.stride(0)];
          if constexpr (!std::is_void_v<Map>) v = Map::forward(v);
          t.y[e] = v;
        });
      }
      return;
    }
    constexpr Geometry g{in, L.x[1], L.x[2], K, Stride, Pad, 1, L.y[1], L.y[2], Dilation};
    auto const fx = factor_x<L>(t);
    auto const fw = factor_w<L>(t);
    using Epilogue = Finish<E, T, 0, WithBias, Map>;
    for (int q = 0; q < groups; ++q) {
      Rows<T> const a{t.w0 + long{q} * out * k, k, fw};
      correlate<E, g, out, blocks_of(L.in_blocks)>(
          c.workspace, a, L.rows, t.x + q * in * L.x.stride(0), L.x.size(), fx, L.y.size(),
          Epilogue{t.y + q * out * L.y.stride(0), L.y.stride(0), WithBias ? t.bias + q * out : nullptr});
    }
  }
  template <op::Local L, class T> static void backward_input(Context c, op::Operands<T> const& t) {
    using E = tensor::accumulate_t<T>;
    constexpr int in = L.w0[1], groups = L.x[0] / in, out = L.y[0] / groups;
    if constexpr (L.out_blocks == 0 && convolves_by_library<T>)
      return by_library_pass<L, LibraryConvolution::Pass::Input>(t.dy, t.w0, t.dx);
    constexpr Geometry g{out, L.y[1], L.y[2], K, 1, Op::reach - 1 - Pad, Stride, L.x[1], L.x[2], Dilation};
    auto const fdy = factor_dy<L>(t);
    auto const fw = factor_w<L>(t);
    using Epilogue = Finish<E, T, 0, false, void>;
    for (int q = 0; q < groups; ++q) {
      Turned<T> const a{t.w0 + long{q} * out * in * K * K, in, K * K, fw};
      correlate<E, g, in, blocks_of(L.out_blocks)>(c.workspace, a, L.rows, t.dy + q * out * L.y.stride(0), L.y.size(),
                                                   fdy, L.x.size(),
                                                   Epilogue{t.dx + q * in * L.x.stride(0), L.x.stride(0)});
    }
  }
  template <op::Local L, class T> static void backward_weight(Context c, op::Operands<T> const& t) {
    using E = tensor::accumulate_t<T>;
    constexpr int in = L.w0[1], groups = L.x[0] / in, out = L.y[0] / groups;
    if constexpr (convolves_by_library<T>)
      return by_library_pass<L, LibraryConvolution::Pass::Weight>(t.x, t.dy, t.dw0);
    constexpr Geometry g{in, L.x[1], L.x[2], K, Stride, Pad, 1, L.y[1], L.y[2], Dilation};
    auto const fx = factor_x<L>(t);
    auto const fdy = factor_dy<L>(t);
    for (int q = 0; q < groups; ++q) {
      correlate_weight<E, g, out>(c.workspace, L.rows, t.x + q * in * L.x.stride(0), fx, L.x.size(),
                                  t.dy + q * out * L.y.stride(0), fdy, L.y.size(), t.dw0 + long{q} * out * in * K * K);
    }
  }

 private:
  static constexpr int blocks_of(int said) { return said > 1 ? said : 1; }
  /// Created in a thread's first pass, and kept.
  template <op::Local L, LibraryConvolution::Pass P>
  static void by_library_pass(float const* a, float const* b, float* to) {
    constexpr int in = L.w0[1], groups = L.x[0] / in, out = L.y[0] / groups;
    static thread_local LibraryConvolution run(
        Convolution{L.rows, groups, in, L.x[1], L.x[2], out, L.y[1], L.y[2], K, Stride, Pad, Dilation}, P);
    run(a, b, to);
  }
};

}  // namespace cleave::backend::host
