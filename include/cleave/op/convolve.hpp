// op/convolve.hpp - y = x * w over images, "bitW,oiKL->botW"; in groups, "bctW,cIKL->bctW". Rows of pixels are t.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../meta/host_device.hpp"
#include "../tensor/factor.hpp"
#include "operands.hpp"
#include "windows.hpp"

namespace cleave::op {

/// x (b, i, h, w), w (o, i/groups, k, k), y (b, o, h', w'), h' = (h + 2 Pad - Dilation (K - 1) - 1) / Stride + 1: the
/// elements under a window are Dilation apart. With groups, a split of
/// the channels splits inputs and outputs alike: groups stay whole and nothing is exchanged.
template <int Out, int K, int Stride = 1, int Pad = 0, int Groups = 1, Start How = Start::He, int Dilation = 1>
struct Convolve : Base {
  static constexpr auto name = "convolution";
  static constexpr auto equation = Groups == 1 ? "bitW,oiKL->botW" : "bctW,cIKL->bctW";
  static constexpr int weights = 1;
  static constexpr int filters = Out, kernel = K, stride = Stride, pad = Pad, groups = Groups, dilation = Dilation;
  static constexpr int reach = Dilation * (K - 1) + 1;  // of a window
  static constexpr Windows windows{reach, Stride, Pad};
  using of_padded = Convolve<Out, K, Stride, 0, Groups, How, Dilation>;
  static constexpr bool linear = true, contracts = true, reads_x = true;
  static constexpr bool unequal_groups = true;  // one rank may have more than another
  static constexpr int extent(int n) { return (n + 2 * Pad - reach) / Stride + 1; }
  static constexpr Shape output(Shape x) { return Shape(Out, extent(x[1]), extent(x[2])); }
  static constexpr Weight weight(int, Shape x) {
    return {Shape(Out, x[0] / Groups, K, K), How, x[0] / Groups * K * K, Out / Groups * K * K};
  }
  static constexpr int parts(char letter, int n) { return letter == 'c' ? Groups : n; }

  template <Local L, class Ctx, class T> CLEAVE_HD static void forward(Ctx ctx, Operands<T> const& t) {
    using A = tensor::accumulate_t<T>;
    constexpr int in = L.w0[1], out_per_group = L.y[0] / (L.x[0] / in);
    auto const of_x = tensor::Factor<T>::of(t.x, L.rows * L.x.size());
    auto const of_w = tensor::Factor<T>::of(t.w0, L.w0.size());
    ctx.each(L.rows * L.y.size(), [&](long e) {
      int const col = static_cast<int>(e % L.y[2]), row = static_cast<int>(e / L.y[2] % L.y[1]);
      int const o = static_cast<int>(e / L.y.stride(0) % L.y[0]);
      T const* const x = t.x + e / L.y.size() * L.x.size() + o / out_per_group * in * L.x.stride(0);
      A sum = 0;
      for (int i = 0; i < in; ++i) {
        for (int k = 0; k < K; ++k) {
          int const h = row * Stride - Pad + k * Dilation;
          if (h < 0 || h >= L.x[1]) continue;
          for (int l = 0; l < K; ++l) {
            int const w = col * Stride - Pad + l * Dilation;
            if (w < 0 || w >= L.x[2]) continue;
            sum += of_x(x[(i * L.x[1] + h) * L.x[2] + w]) * of_w(t.w0[((o * in + i) * K + k) * K + l]);
          }
        }
      }
      t.y[e] = static_cast<T>(sum);
    });
  }
  template <Local L, class Ctx, class T> CLEAVE_HD static void backward_input(Ctx ctx, Operands<T> const& t) {
    using A = tensor::accumulate_t<T>;
    constexpr int in = L.w0[1], out_per_group = L.y[0] / (L.x[0] / in);
    auto const of_dy = tensor::Factor<T, tensor::Role::Gradient>::of(t.dy, L.rows * L.y.size());
    auto const of_w = tensor::Factor<T>::of(t.w0, L.w0.size());
    ctx.each(L.rows * L.x.size(), [&](long e) {
      int const w = static_cast<int>(e % L.x[2]), h = static_cast<int>(e / L.x[2] % L.x[1]);
      int const c = static_cast<int>(e / L.x.stride(0) % L.x[0]), first = c / in * out_per_group;
      T const* const dy = t.dy + e / L.x.size() * L.y.size();
      A sum = 0;
      for (int o = first; o < first + out_per_group; ++o) {
        for (int k = 0; k < K; ++k) {
          int const row = h + Pad - k * Dilation;
          if (row < 0 || row % Stride != 0 || row / Stride >= L.y[1]) continue;
          for (int l = 0; l < K; ++l) {
            int const col = w + Pad - l * Dilation;
            if (col < 0 || col % Stride != 0 || col / Stride >= L.y[2]) continue;
            sum += of_dy(dy[(o * L.y[1] + row / Stride) * L.y[2] + col / Stride]) *
                   of_w(t.w0[((o * in + c % in) * K + k) * K + l]);
          }
        }
      }
      t.dx[e] = static_cast<T>(sum);
    });
  }
  template <Local L, class Ctx, class T> CLEAVE_HD static void backward_weight(Ctx ctx, Operands<T> const& t) {
    using A = tensor::accumulate_t<T>;
    constexpr int in = L.w0[1], out_per_group = L.y[0] / (L.x[0] / in);
    auto const of_x = tensor::Factor<T>::of(t.x, L.rows * L.x.size());
    auto const of_dy = tensor::Factor<T, tensor::Role::Gradient>::of(t.dy, L.rows * L.y.size());
    ctx.each(L.w0.size(), [&](long e) {
      int const l = static_cast<int>(e % K), k = static_cast<int>(e / K % K);
      int const i = static_cast<int>(e / (K * K) % in), o = static_cast<int>(e / (K * K * in));
      A sum = 0;
      for (long b = 0; b < L.rows; ++b) {
        T const* const x = t.x + b * L.x.size() + (o / out_per_group * in + i) * L.x.stride(0);
        T const* const dy = t.dy + b * L.y.size() + o * L.y.stride(0);
        for (int row = 0; row < L.y[1]; ++row) {
          int const h = row * Stride - Pad + k * Dilation;
          if (h < 0 || h >= L.x[1]) continue;
          for (int col = 0; col < L.y[2]; ++col) {
            int const w = col * Stride - Pad + l * Dilation;
            if (w < 0 || w >= L.x[2]) continue;
            sum += of_x(x[h * L.x[2] + w]) * of_dy(dy[row * L.y[2] + col]);
          }
        }
      }
      t.dw0[e] = sum;
    });
  }
};
template <int Out, int K, int Stride, int Pad, int Groups, Start How, int Dilation>
inline constexpr bool sums_in_blocks<Convolve<Out, K, Stride, Pad, Groups, How, Dilation>> = true;

}  // namespace cleave::op
