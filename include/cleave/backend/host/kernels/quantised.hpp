// backend/host/kernels/quantised.hpp - Linear and Conv with weights of 8 bits; inputs are rounded to 8 bits by sample.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../../../op/convolve.hpp"
#include "../../../op/product.hpp"
#include "../../../op/reshaped.hpp"
#include "../../../schedule/arena.hpp"
#include "integer.hpp"
#include "kernel.hpp"

namespace cleave::backend::host {

/// That a sum of 32 bits takes, 255 x 128 each.
inline constexpr long most_products = 65'000;

/// An operation; one with `packs` reads its weights packed as `Packed<L>` says, of which `element(segment, d, o)` is an
/// element of the weight as it is trained (of a group's, if there are groups).
template <class Op> struct QuantisedKernel : Kernel<Op> { static constexpr bool packs = false; };

/// x (b, i), w (i, o), y (b, o): an input sample has a scale of its own, hence its output depends on nothing else.
template <int Out, op::Start How> struct QuantisedKernel<op::Product<Out, How>> {
  static constexpr bool packs = true;
  template <op::Local L> using Packed = PackedWeights<1, L.w0[0], L.w0[1]>;
  template <op::Local L> static constexpr int outputs = L.w0[1];
  template <op::Local L> static constexpr long output_of(long e) { return e % L.w0[1]; }
  /// The element of w that output o multiplies input d of a segment by.
  template <op::Local L> static constexpr long element(int, int d, int o) { return long{d} * L.w0[1] + o; }

  template <op::Local L, bool WithBias, class Map, class T> static void forward(Context c, op::Operands<T> const& t) {
    constexpr long in = L.w0[0], out = L.w0[1], wide = (in + 63) / 64 * 64;
    static_assert(in <= most_products, "Predictor<Net, int8>: a layer has more than 65,000 inputs; take f32");
    constexpr int group = static_cast<int>(std::min<long>(L.rows, (schedule::workspace_bytes - 64) / wide / 16 * 16));
    auto* const bytes = reinterpret_cast<std::uint8_t*>(c.workspace);
    with_integers([&]<class S>(S) {
      for (int first = 0; first < L.rows; first += group) {
        int const rows = std::min(group, L.rows - first);
        float scale[group];
        for (int r = 0; r < rows; ++r) {
          float const* const x = t.x + (first + r) * in;
          Bytes8 const by(S::largest(x, in));
          scale[r] = by.scale;
          S::to_bytes(bytes + r * wide, x, in, by);
        }
        auto const* const packed = reinterpret_cast<std::byte const*>(t.w0);
        for (int r = 0; r < rows; r += 16) {
          float* const y = t.y + (first + r) * out;
          if (L.rows == 1 || rows - r >= 16) {
            EvenRows<wide> const x{bytes + r * wide};
            all_outputs<S, L, WithBias, Map>(x, 16, scale + r, packed, t.bias, y);
          } else {
            ScatteredRows x;
            for (int i = 0; i < 16; ++i) x.at[i] = bytes + std::min(r + i, rows - 1) * wide;
            all_outputs<S, L, WithBias, Map>(x, rows - r, scale + r, packed, t.bias, y);
          }
        }
      }
    });
  }

 private:
  template <class S, op::Local L, bool WithBias, class Map, class X>
  static void all_outputs(X const& x, int rows, float const* scale_x, std::byte const* packed, float const* bias,
                          float* y) {
    using Of = Packed<L>;
    constexpr int out = L.w0[1];
    auto const part = [&]<int Rows, int Blocks>(int block) {
      alignas(64) int sum[Rows * Blocks * 16];
      S::template sums<Of, Rows, Blocks>(sum, x, Of::values(packed) + block * Of::block_bytes, [](int) { return 0L; });
      for (int b = 0; b < Blocks; ++b) {
        int const first = (block + b) * 16;
        float own_bias[16] = {};
        if constexpr (WithBias) std::copy_n(bias + first, std::min(16, out - first), own_bias);
        for (int r = 0; r < std::min(rows, Rows); ++r) {
          float v[16];
          S::template finish<WithBias, Map>(
              v, sum + (b * Rows + r) * 16, [e = Of::excess(packed) + first](int i) { return e[i]; },
              [s = Of::scales(packed) + first, f = scale_x[r]](int i) { return s[i] * f; },
              [&](int i) { return own_bias[i]; });
          std::copy_n(v, std::min(16, out - first), y + long{r} * out + first);
        }
      }
    };
    if constexpr (L.rows == 1) {  // several blocks at once, else each sum waits for the one before
      constexpr int fours = Of::blocks / 4 * 4;
      for (int block = 0; block < fours; block += 4) part.template operator()<1, 4>(block);
      for (int block = fours; block < Of::blocks; ++block) part.template operator()<1, 1>(block);
    } else {
      for (int block = 0; block < Of::blocks; ++block) part.template operator()<16, 1>(block);
    }
  }
};

/// x (b, i, h, w), w (o, i/groups, k, k), y (b, o, h', w'). The bytes of an image lie as (h, w, i) with its borders, so
/// that a row of a patch is one run of them.
template <int Out, int K, int Stride, int Pad, int Groups, op::Start How, int Dilation>
struct QuantisedKernel<op::Convolve<Out, K, Stride, Pad, Groups, How, Dilation>> {
  static constexpr bool packs = true;
  static constexpr bool by_rows = Groups == 1 && Dilation == 1;
  static constexpr int reach = Dilation * (K - 1) + 1;
  static constexpr int segments = by_rows ? K : K * K;
  template <op::Local L> static constexpr int depth = by_rows ? K* L.w0[1] : L.w0[1];
  template <op::Local L> using Packed = PackedWeights<segments, depth<L>, Out / Groups>;
  template <op::Local L> static constexpr int outputs = Out;
  template <op::Local L> static constexpr long output_of(long e) { return e / (L.w0.size() / Out); }
  template <op::Local L> static constexpr long group_bytes = (Packed<L>::bytes + 63) / 64 * 64;
  template <op::Local L> static constexpr long element(int segment, int d, int o) {
    constexpr int in = L.w0[1];
    int const i = by_rows ? d % in : d, x = by_rows ? d / in : segment % K, y = by_rows ? segment : segment / K;
    return ((long{o} * in + i) * K + y) * K + x;
  }

  template <op::Local L, bool WithBias, class Map, class T> static void forward(Context c, op::Operands<T> const& t) {
    constexpr int channels = L.x[0], h = L.x[1], high = L.y[1], wide = L.y[2];
    constexpr long line = (L.x[2] + 2 * Pad) * long{channels};
    // Lines of an image that the workspace holds, and the lines of the output that these give.
    constexpr int lines = static_cast<int>(std::min<long>(h + 2 * Pad, (schedule::workspace_bytes - 128) / line));
    static_assert(lines >= reach, "Predictor<Net, int8>: an image is too wide for the workspace; take f32");
    static_assert(K * K * L.w0[1] <= most_products,
                  "Predictor<Net, int8>: a filter has more than 65,000 weights; take f32");
    constexpr int at_once = (lines - reach) / Stride + 1;
    auto* const bytes = reinterpret_cast<std::uint8_t*>(c.workspace);
    with_integers([&]<class S>(S) {
      for (int b = 0; b < L.rows; ++b) {
        float const* const image = t.x + b * L.x.size();
        Bytes8 const by(S::largest(image, L.x.size()));
        for (int top = 0; top < high; top += at_once) {
          int const rows = std::min(at_once, high - top);
          load<S, L>(bytes, image, top * Stride, (rows - 1) * Stride + reach, by);
          auto const* const w = reinterpret_cast<std::byte const*>(t.w0);
          float* const y = t.y + b * L.y.size() + long{top} * wide;
          if constexpr (wide >= 16) {  // the last 16 of a line may overlap with those before
            for (int p = 0; p < rows * wide; p += p % wide + 16 < wide ? 16 : wide - p % wide) {
              int const at = p - std::max(0, p % wide + 16 - wide);
              EvenRows<long{Stride} * channels> const x{bytes + at / wide * Stride * line +
                                                        at % wide * long{Stride} * channels};
              pixels<S, L, WithBias, Map>(x, 16, by.scale, w, t.bias, y + at);
            }
          } else {
            for (int p = 0; p < rows * wide; p += 16) {
              int const count = std::min(16, rows * wide - p);
              ScatteredRows x;
              for (int r = 0; r < 16; ++r) {
                int const at = p + std::min(r, count - 1);
                x.at[r] = bytes + at / wide * Stride * line + at % wide * long{Stride} * channels;
              }
              pixels<S, L, WithBias, Map>(x, count, by.scale, w, t.bias, y + p);
            }
          }
        }
      }
    });
  }

 private:
  /// All outputs of 16 pixels, of which `count` are stored.
  template <class S, op::Local L, bool WithBias, class Map, class X>
  static void pixels(X x, int count, float scale, std::byte const* w, float const* bias, float* y) {
    using Of = Packed<L>;
    constexpr int in = L.w0[1], out = Of::outputs;
    constexpr long line = (L.x[2] + 2 * Pad) * long{L.x[0]}, plane = L.y.stride(0);
    auto const shift = [](int s) { return by_rows ? s * line : (s / K * line + s % K * long{L.x[0]}) * Dilation; };
    for (int q = 0; q < Groups; ++q, w += group_bytes<L>) {
      auto const group = [&](int r) { return x(r) + q * in; };
      for (int block = 0; block < Of::blocks; ++block) {
        alignas(64) int sum[256];
        S::template sums<Of, 16, 1>(sum, group, Of::values(w) + block * Of::block_bytes, shift);
        S::transpose(sum);
        for (int o = block * 16; o < std::min(out, block * 16 + 16); ++o) {
          float v[16];
          S::template finish<WithBias, Map>(
              v, sum + o % 16 * 16, [e = Of::excess(w)[o]](int) { return e; },
              [s = Of::scales(w)[o] * scale](int) { return s; },
              [b = WithBias ? bias[q * out + o] : 0.0f](int) { return b; });
          std::copy_n(v, count, y + (long{q} * out + o) * plane);
        }
      }
    }
  }
  /// Lines first to first + count - 1 of an image with borders, as bytes (h, w, channels).
  template <class S, op::Local L>
  static void load(std::uint8_t* to, float const* image, int first, int count, Bytes8 const& by) {
    constexpr int channels = L.x[0], h = L.x[1], w = L.x[2];
    constexpr long line = (w + 2 * Pad) * long{channels};
    for (int y = first; y < first + count; ++y, to += line) {
      std::memset(to, 128, static_cast<std::size_t>(line));
      if (y < Pad || y >= h + Pad) continue;
      for (int c = 0; c < channels; ++c) {
        std::uint8_t row[w];
        S::to_bytes(row, image + (long{c} * h + y - Pad) * w, w, by);
        for (int x = 0; x < w; ++x) to[(x + Pad) * long{channels} + c] = row[x];
      }
    }
    std::memset(to, 128, 64);  // the last sum of four may read beyond
  }
};

/// Linear or Conv on each position of a sequence, whose input has a scale of its own.
template <class Op>
requires(op::is_reshaped<Op>&& requires {
  requires QuantisedKernel<typename Op::of_position>::packs;
}) struct QuantisedKernel<Op> {
  using Of = QuantisedKernel<typename Op::of_position>;
  static constexpr bool packs = true;
  template <op::Local L> using Packed = typename Of::template Packed<Op::as(L)>;
  template <op::Local L> static constexpr int outputs = Of::template outputs<Op::as(L)>;
  template <op::Local L> static constexpr long output_of(long e) { return Of::template output_of<Op::as(L)>(e); }
  template <op::Local L> static constexpr long element(int segment, int d, int o) {
    return Of::template element<Op::as(L)>(segment, d, o);
  }

  template <op::Local L, bool WithBias, class Map, class T> static void forward(Context c, op::Operands<T> const& t) {
    Of::template forward<Op::as(L), WithBias, Map>(c, t);
  }
};

/// The host, with weights of 8 bits where an operation packs them.
struct QuantisedHost : Host {
  template <class Op> using Kernel = QuantisedKernel<Op>;
};

}  // namespace cleave::backend::host
