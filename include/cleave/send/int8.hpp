// send/int8.hpp - `Compress<Int8>`: whole numbers from -127 to 127, with one scale for every 256 of them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cfloat>
#include <cmath>
#include <cstdint>
#include <string_view>

#include "codec.hpp"

namespace cleave {

/// Each block is its scale (f32), then its numbers, rounded to nearest, ties away from zero. A block that is not finite
/// comes out as not a number.
struct Int8 : send::Codec {
  static constexpr std::string_view name = "int8";
  static constexpr long block = 256;
  static constexpr long bytes(long n) { return n + 4 * ((n + block - 1) / block); }

  template <class A> static void encode(long n, A const* g, std::byte* out) {
    for (long first = 0; first < n; first += block) {
      long const count = n - first < block ? n - first : block;
      A const* const v = g + first;
      std::uint32_t most = 0;  // of the sizes, as bits: in that order, and what is not finite is the largest
      auto const look = [&](long all) {
        for (long i = 0; i < all; ++i) {
          std::uint32_t const size = __builtin_bit_cast(std::uint32_t, static_cast<float>(v[i])) & 0x7fffffffu;
          most = size > most ? size : most;
        }
      };
      count == block ? look(block) : look(count);
      float const top = __builtin_bit_cast(float, most);
      float scale = top / 127;
      scale = !(top <= FLT_MAX) ? __builtin_nanf("") : scale < FLT_MIN ? 0 : short_of(scale);
      send::store(out, scale);
      out += 4;
      bool const usable = scale > 0 && scale <= FLT_MAX;
      float const inverse = usable ? 1 / scale : 0;
      tensor::each(
          usable ? count : 0, [&](long i) {  // in whole halves: an addition could be contracted with the product
            int const halves = static_cast<int>(static_cast<float>(v[i]) * (2 * inverse));
            int const whole = (halves + (halves > 0) - (halves < 0)) / 2;
            out[i] = static_cast<std::byte>(static_cast<std::int8_t>(whole > 127 ? 127 : whole < -127 ? -127 : whole));
          });
      if (!usable) std::memset(out, 0, static_cast<std::size_t>(count));
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

 private:
  /// Rounded up to 16 bits of its 24: times a number of 7 bits it is exact, and whoever multiplies and adds at once,
  /// or in two steps, has the same bits.
  static float short_of(float v) {
    return __builtin_bit_cast(float, (__builtin_bit_cast(std::uint32_t, v) + 0xffu) & ~0xffu);
  }
};

}  // namespace cleave
