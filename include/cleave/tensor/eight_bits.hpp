// tensor/eight_bits.hpp - floating-point numbers of 8 bits: e4m3 and e5m2.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

#include "../meta/host_device.hpp"

namespace cleave::tensor {

/// A sign, `Exponent` bits, `Fraction` bits. Rounded to nearest even; a finite number beyond the largest becomes the
/// largest; NaN stays NaN. With four bits of exponent there is no code for an infinity, which becomes NaN. Source:
/// Micikevicius et al., "FP8 formats for deep learning", 2022.
template <int Exponent, int Fraction> struct EightBits {
  static_assert(1 + Exponent + Fraction == 8);
  std::uint8_t bits;

  static constexpr bool has_infinity = Exponent == 5;
  static constexpr int bias = (1 << (Exponent - 1)) - 1, dropped = 23 - Fraction;
  static constexpr int largest_exponent = has_infinity ? bias : bias + 1;
  static constexpr float least_normal = __builtin_bit_cast(float, (128u - bias) << 23);
  static constexpr float largest =
      __builtin_bit_cast(float, ((127u + largest_exponent) << 23) | 0x600000u);  // 1.75 times a power of two
  // Of floats' bits: where the exponent is, that of the least normal number, and what is added for all that is dropped.
  static constexpr std::uint32_t exponents = 0x7f800000u, least_exponent = (128u - bias) << 23,
                                 shift = std::uint32_t{dropped} << 23;

  EightBits() = default;
  CLEAVE_HD constexpr explicit EightBits(float v) : bits(code(rounded(v))) {}
  CLEAVE_HD constexpr explicit operator float() const {
    std::uint32_t const sign = (bits & 0x80u) << 24, a = bits & 0x7fu, exponent = a >> Fraction;
    std::uint32_t const fraction = (a << dropped) & 0x7fffffu;
    if (exponent == 0) {  // `a` times the least number
      return __builtin_bit_cast(float, sign | __builtin_bit_cast(std::uint32_t, static_cast<float>(a) * least()));
    }
    bool const infinite = has_infinity && a == 0x7c, nan = has_infinity ? a > 0x7c : a == 0x7f;
    if (infinite || nan) return __builtin_bit_cast(float, sign | (nan ? 0x7fc00000u : 0x7f800000u));
    return __builtin_bit_cast(float, sign | ((exponent + 127 - bias) << 23) | fraction);
  }

  /// The nearest number of this format.
  CLEAVE_HD static constexpr float rounded(float v) {
    std::uint32_t const u = __builtin_bit_cast(std::uint32_t, v);
    if ((u & exponents) == exponents) return __builtin_bit_cast(float, has_infinity ? u : u | 0x400000u);
    return nearest(v > largest ? largest : v < -largest ? -largest : v);
  }
  /// The same for a number that is not beyond the largest; numbers that are not finite stay so. A power of two is added
  /// and subtracted again, so large that a float has no bits left for the ones to be dropped.
  CLEAVE_HD static constexpr float nearest(float v) {
    std::uint32_t const u = __builtin_bit_cast(std::uint32_t, v), e = u & exponents, sign = u & 0x80000000u;
    float const power = __builtin_bit_cast(float, (e > least_exponent ? e : least_exponent) + shift);
    float const r = (__builtin_bit_cast(float, u ^ sign) + power) - power;
    return __builtin_bit_cast(float, __builtin_bit_cast(std::uint32_t, r) | sign);
  }

 private:
  CLEAVE_HD static constexpr float least() { return __builtin_bit_cast(float, (128u - bias - Fraction) << 23); }
  CLEAVE_HD static constexpr std::uint8_t code(float r) {
    std::uint32_t const u = __builtin_bit_cast(std::uint32_t, r), sign = (u >> 24) & 0x80u, a = u & 0x7fffffffu;
    if (a > exponents) return static_cast<std::uint8_t>(sign | 0x7fu);
    if (a == exponents) return static_cast<std::uint8_t>(sign | 0x7cu);
    if (a < least_exponent) {
      return static_cast<std::uint8_t>(
          sign | static_cast<std::uint32_t>(__builtin_bit_cast(float, a) *
                                            __builtin_bit_cast(float, (126u + bias + Fraction) << 23)));
    }
    return static_cast<std::uint8_t>(sign | ((a >> dropped) - ((127u - bias) << Fraction)));
  }
};

}  // namespace cleave::tensor

namespace cleave {

using e4m3 = tensor::EightBits<4, 3>;
using e5m2 = tensor::EightBits<5, 2>;

}  // namespace cleave
