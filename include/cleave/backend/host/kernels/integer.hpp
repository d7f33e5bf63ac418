// backend/host/kernels/integer.hpp - products and convolutions of 8-bit integers, for prediction: packing, and sums of products.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "simd.hpp"

#if defined(__x86_64__) && !defined(__CUDACC__)
#define CLEAVE_VNNI 1
#if defined(__GNUC__) && !defined(__clang__)  // which warns of registers that the header leaves undefined on purpose
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#include <immintrin.h>
#pragma GCC diagnostic pop
#else
#include <immintrin.h>
#endif
#endif

namespace cleave::backend::host {

/// Numbers x as bytes q + 128, q = round(x / scale) from -127 to 127; 0 is exact. A factor of 0: all are 0; NaN: one is
/// not finite.
struct Bytes8 {
  float scale = 0, inverse = 0;

  explicit Bytes8(float most) {
    scale = most / 127;
    if (most > 1e-30f && most < std::numeric_limits<float>::infinity()) {
      inverse = 127 / most;
    } else if (!(most <= 1e-30f)) {
      scale = std::numeric_limits<float>::quiet_NaN();
    }
  }
  int of(float x) const { return inverse == 0 ? 0 : static_cast<int>(std::nearbyint(x * inverse)); }
};

/// Weights of `Out` outputs, each a sum over Segments runs of Depth inputs, as 8-bit integers with a scale for each
/// output. Packed in blocks of 16 outputs: for each four inputs 16 x 4 bytes, zeros past the ends.
template <int Segments, int Depth, int Out> struct PackedWeights {
  static constexpr int segments = Segments, depth = Depth, outputs = Out, lanes = 16, fours = (Depth + 3) / 4,
                       blocks = (Out + lanes - 1) / lanes;
  static constexpr long block_bytes = long{Segments} * fours * lanes * 4;
  static constexpr long bytes = blocks * (lanes * long{sizeof(float) + sizeof(int)} + block_bytes);

  static float* scales(std::byte* p) { return reinterpret_cast<float*>(p); }
  /// What the 128 of each input adds to the sum of an output.
  static int* excess(std::byte* p) { return reinterpret_cast<int*>(p) + blocks * lanes; }
  static std::int8_t* values(std::byte* p) {
    return reinterpret_cast<std::int8_t*>(p) + blocks * lanes * long{sizeof(float) + sizeof(int)};
  }
  static float const* scales(std::byte const* p) { return scales(const_cast<std::byte*>(p)); }
  static int const* excess(std::byte const* p) { return excess(const_cast<std::byte*>(p)); }
  static std::int8_t const* values(std::byte const* p) { return values(const_cast<std::byte*>(p)); }

  static long place(int segment, int d, int o) {
    return o / lanes * block_bytes + ((long{segment} * fours + d / 4) * lanes + o % lanes) * 4 + d % 4;
  }
  /// weight(segment, d, o) is an integer from -127 to 127, scale(o) what it is multiplied by.
  template <class Of, class Scale> static void pack(std::byte* to, Of weight, Scale scale) {
    std::memset(to, 0, static_cast<std::size_t>(bytes));
    for (int o = 0; o < Out; ++o) {
      scales(to)[o] = scale(o);
      int sum = 0;
      for (int s = 0; s < Segments; ++s) {
        for (int d = 0; d < Depth; ++d) {
          auto const w = static_cast<std::int8_t>(weight(s, d, o));
          values(to)[place(s, d, o)] = w;
          sum += int{w};
        }
      }
      excess(to)[o] = 128 * sum;
    }
  }
};

/// The largest magnitude of n numbers; NaN if one is NaN.
inline float largest(float const* x, long n) {
  float most = 0;
  bool good = true;
  for (long i = 0; i < n; ++i) {
    float const m = std::fabs(x[i]);
    good &= m == m;
    most = m > most ? m : most;
  }
  return good ? most : std::numeric_limits<float>::quiet_NaN();
}

/// Rows of bytes at equal distances, which the compiler knows; or anywhere.
template <long Step> struct EvenRows {
  std::uint8_t const* first;
  std::uint8_t const* operator()(int r) const { return first + r * Step; }
};
struct ScatteredRows {
  std::uint8_t const* at[16];
  std::uint8_t const* operator()(int r) const { return at[r]; }
};

/// to = map((sum - excess) scale + bias), of 16 sums.
template <bool WithBias, class Map, class Excess, class Scale, class Bias>
[[gnu::always_inline]] inline void finish_16(float* to, int const* sum, Excess excess, Scale scale, Bias bias) {
  float v[16];
  for (int i = 0; i < 16; ++i) {
    auto const whole = static_cast<float>(sum[i] - excess(i));
    if constexpr (WithBias) {
      v[i] = __builtin_fmaf(whole, scale(i), bias(i));  // so that every processor rounds alike
    } else {
      v[i] = whole * scale(i);
    }
  }
  for (int i = 0; i < 16; ++i) {
    if constexpr (std::is_void_v<Map>) to[i] = v[i];
    if constexpr (!std::is_void_v<Map>) to[i] = Map::forward(v[i]);
  }
}

/// What any processor can do.
struct AnyInteger {
  static float largest(float const* x, long n) { return host::largest(x, n); }
  static void to_bytes(std::uint8_t* to, float const* x, long n, Bytes8 const& by) {
    for (long i = 0; i < n; ++i) to[i] = static_cast<std::uint8_t>(by.of(x[i]) + 128);
  }
  /// Of Rows rows of bytes, from x(r) + shift(segment) on, and Blocks blocks of weights: sum (block, row, 16 outputs).
  template <class Packed, int Rows, int Blocks, class X, class Shift>
  static void sums(int* sum, X const& x, std::int8_t const* w, Shift shift) {
    std::fill_n(sum, Blocks * Rows * 16, 0);
    for (int b = 0; b < Blocks; ++b, sum += Rows * 16) {
      for (int s = 0; s < Packed::segments; ++s) {
        for (int f = 0; f < Packed::fours; ++f, w += 64) {
          for (int r = 0; r < Rows; ++r) {
            std::uint8_t const* const from = x(r) + shift(s) + 4 * f;
            for (int o = 0; o < 16; ++o) {
              for (int k = 0; k < 4; ++k) sum[r * 16 + o] += from[k] * w[o * 4 + k];
            }
          }
        }
      }
    }
  }
  static void transpose(int* square) {
    for (int r = 0; r < 16; ++r)
      for (int o = 0; o < r; ++o) std::swap(square[r * 16 + o], square[o * 16 + r]);
  }
  template <bool WithBias, class Map, class Excess, class Scale, class Bias>
  static void finish(float* to, int const* sum, Excess excess, Scale scale, Bias bias) {
    finish_16<WithBias, Map>(to, sum, excess, scale, bias);
  }
};

}  // namespace cleave::backend::host

#ifdef CLEAVE_VNNI
#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx512f,avx512vl,avx512bw,avx512dq,avx512vnni,avx2,fma"))), \
                             apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx512f,avx512vl,avx512bw,avx512dq,avx512vnni,avx2,fma")
#endif
namespace cleave::backend::host {

/// With the dot products of AVX-512 VNNI: the same integers.
struct Vnni {
  static float largest(float const* x, long n) {
    __m512 most = _mm512_setzero_ps();
    __mmask16 bad = 0;
    long i = 0;
    for (; i + 16 <= n; i += 16) {
      __m512 const v = _mm512_loadu_ps(x + i);
      bad = static_cast<__mmask16>(bad | _mm512_cmp_ps_mask(v, v, _CMP_UNORD_Q));
      most = _mm512_max_ps(most, _mm512_abs_ps(v));
    }
    float const rest = host::largest(x + i, n - i), all = _mm512_reduce_max_ps(most);
    return bad || rest != rest ? std::numeric_limits<float>::quiet_NaN() : all > rest ? all : rest;
  }
  static void to_bytes(std::uint8_t* to, float const* x, long n, Bytes8 const& by) {
    __m512 const inverse = _mm512_set1_ps(by.inverse);
    __m512i const middle = _mm512_set1_epi32(128);
    long i = 0;
    for (; i + 16 <= n; i += 16) {
      __m512i const q = _mm512_cvtps_epi32(_mm512_mul_ps(_mm512_loadu_ps(x + i), inverse));
      _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i), _mm512_cvtepi32_epi8(_mm512_add_epi32(q, middle)));
    }
    AnyInteger::to_bytes(to + i, x + i, n - i, by);
  }
  template <class Packed, int Rows, int Blocks, class X, class Shift>
  static void sums(int* sum, X const& x, std::int8_t const* w, Shift shift) {
    __m512i acc[Blocks][Rows];
#pragma GCC unroll 16
    for (int b = 0; b < Blocks; ++b)
#pragma GCC unroll 16
      for (int r = 0; r < Rows; ++r) acc[b][r] = _mm512_setzero_si512();
    for (int s = 0; s < Packed::segments; ++s) {
      long const from = shift(s);
      for (int f = 0; f < Packed::fours; ++f, w += 64) {
        __m512i weights[Blocks];
#pragma GCC unroll 16
        for (int b = 0; b < Blocks; ++b) weights[b] = _mm512_loadu_si512(w + b * Packed::block_bytes);
#pragma GCC unroll 16
        for (int r = 0; r < Rows; ++r) {
          int four;
          std::memcpy(&four, x(r) + from + 4 * f, 4);
#pragma GCC unroll 16
          for (int b = 0; b < Blocks; ++b) acc[b][r] = add_products(acc[b][r], _mm512_set1_epi32(four), weights[b]);
        }
      }
    }
#pragma GCC unroll 16
    for (int b = 0; b < Blocks; ++b)
#pragma GCC unroll 16
      for (int r = 0; r < Rows; ++r) _mm512_storeu_si512(sum + (b * Rows + r) * 16, acc[b][r]);
  }
  /// As _mm512_dpbusd_epi32, for which g++ 12 copies each sum, and runs out of registers.
  [[gnu::always_inline]] static __m512i add_products(__m512i sum, __m512i x, __m512i w) {
    asm("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(x), "v"(w));
    return sum;
  }
  static void transpose(int* square) {
    avx512::Simd::Of<float>::Vector v[16];
    std::memcpy(v, square, sizeof v);
    avx512::Simd::transpose<8>(v);
    std::memcpy(square, v, sizeof v);
  }
  template <bool WithBias, class Map, class Excess, class Scale, class Bias>
  static void finish(float* to, int const* sum, Excess excess, Scale scale, Bias bias) {
    finish_16<WithBias, Map>(to, sum, excess, scale, bias);
  }
};

}  // namespace cleave::backend::host
#ifdef __clang__
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif

namespace cleave::backend::host {

/// Calls f with Vnni or AnyInteger: what this machine has, and `isa` allows.
template <class F> void with_integers(F f) {
#ifdef CLEAVE_VNNI
  static bool const has = __builtin_cpu_supports("avx512vnni");
  if (has && isa() == Isa::Avx512) return f(Vnni{});
#endif
  f(AnyInteger{});
}

}  // namespace cleave::backend::host
