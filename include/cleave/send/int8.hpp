// send/int8.hpp - `Compress<Int8>`: integers from -127 to 127, with one scale for every 256 of them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cfloat>
#include <cmath>
#include <cstdint>
#include <string_view>

#include "codec.hpp"

namespace cleave {

/// Each block is its scale (f32), then its numbers, rounded to nearest, ties away from zero. A block with a number that
/// is not finite decodes to NaN.
struct Int8 : send::Codec {
  static constexpr bool keeps_zeros = true;
  static constexpr std::string_view name = "int8";
  static constexpr long block = 256;
  static constexpr long bytes(long n) { return n + 4 * ((n + block - 1) / block); }

  template <class A> static void encode(long n, A const* g, std::byte* out) {
    for (long first = 0; first < n; first += block) {
      long const count = n - first < block ? n - first : block;
      A const* const v = g + first;
      std::uint32_t most = 0;
      auto const look = [&](long all) {
        for (long i = 0; i < all; ++i) {
          std::uint32_t const s = send::size_of(v[i]);
          most = s > most ? s : most;
        }
      };
      count == block ? look(block) : look(count);
      float const scale = scale_of(most), inverse = inverse_of(scale);
      send::store(out, scale);
      out += 4;
      tensor::each(inverse > 0 ? count : 0, [&](long i) { out[i] = static_cast<std::byte>(whole(v[i], inverse)); });
      if (!(inverse > 0)) std::memset(out, 0, static_cast<std::size_t>(count));
      out += count;
    }
  }
  template <class A, class To> static void decode(long n, std::byte const* in, To to) {
    for (long first = 0; first < n; first += block) {
      long const count = n - first < block ? n - first : block;
      A const scale = static_cast<A>(send::load<float>(in));
      in += 4;
      tensor::each(count, [&](long i) { to(first + i, scale * static_cast<A>(static_cast<std::int8_t>(in[i]))); });
      in += count;
    }
  }

  // Computed for a block, and for an element.
  CLEAVE_HD static float scale_of(std::uint32_t most) {
    float const top = __builtin_bit_cast(float, most), scale = top / 127;
    return !(top <= FLT_MAX) ? __builtin_nanf("") : scale < FLT_MIN ? 0 : short_of(scale);
  }
  /// 0 where all numbers are 0.
  CLEAVE_HD static float inverse_of(float scale) { return scale > 0 && scale <= FLT_MAX ? 1 / scale : 0; }
  template <class A> CLEAVE_HD static std::int8_t whole(A v, float inverse) {
    // in whole halves: an addition could be contracted with the product
    int const halves = static_cast<int>(static_cast<float>(v) * (2 * inverse));
    int const n = (halves + (halves > 0) - (halves < 0)) / 2;
    return static_cast<std::int8_t>(n > 127 ? 127 : n < -127 ? -127 : n);
  }

 private:
  /// Rounded up to 16 of its 24 bits: its product with a number of 7 bits is exact, so that a fused multiply-add and
  /// two separate operations give the same bits.
  CLEAVE_HD static float short_of(float v) {
    return __builtin_bit_cast(float, (__builtin_bit_cast(std::uint32_t, v) + 0xffu) & ~0xffu);
  }
};

}  // namespace cleave
