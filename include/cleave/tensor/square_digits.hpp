// tensor/square_digits.hpp - a sum of squares without rounding, as a whole number of many digits.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cmath>
#include <cstdint>

#include "../meta/host_device.hpp"

namespace cleave::tensor {

/// A is the format of sums. Squares of f32 are exact in f64; those of f64 are rounded to f64 one by one. As words, each
/// an f64: the digits, whole numbers from the lowest to the highest, then the sum of the squares that are infinite or
/// NaN. Words of up to 2^20 sums may be added in f64.
/// Source: R. M. Neal, "Fast exact summation using small and large superaccumulators", 2015.
template <class A> struct SquareDigits {
  static constexpr bool f32 = sizeof(A) == sizeof(float);
  static constexpr int bits = 32, digits = f32 ? 21 : 67, words = digits + 1;
  static constexpr int mantissa = 52, bias = 1023;
  // Of squares of f32 the lowest 5 bits of the mantissa are 0, and exponents are those of 2^-298 to 2^256.
  static constexpr int unused = f32 ? 5 : 0, first = f32 ? bias - 298 : 1;
  static constexpr int lowest = first - bias - mantissa + unused;  // the exponent of digit 0
  static constexpr std::int64_t low = 0xffffffff;

  /// number times 2^shift, of the lowest digit.
  CLEAVE_HD static void add(std::int64_t* digit, std::int64_t number, int shift, int sign) {
    int const d = shift / bits, by = shift % bits;
    std::int64_t const low_part = (number & low) << by, high_part = (number >> bits) << by;
    digit[d] += sign * (low_part & low);
    digit[d + 1] += sign * ((low_part >> bits) + (high_part & low));
    digit[d + 2] += sign * (high_part >> bits);
  }
  /// Digits of any size as digits below 2^32, of a sum that is not negative. `to` may be `from`.
  template <class Digit> CLEAVE_HD static void carry(Digit const* from, double* to) {
    std::int64_t carried = 0;
    for (int d = 0; d < digits; ++d) {
      carried += static_cast<std::int64_t>(from[d]);
      to[d] = static_cast<double>(carried & low);
      carried >>= bits;
    }
  }
  /// The sum of these words in f64. Depends on the exact sum alone.
  CLEAVE_HD static double value(double const* from) {
    if (from[digits] != 0) return from[digits];
    double sum = 0;
    std::int64_t carried = 0;
    for (int d = 0; d < digits; ++d) {
      carried += static_cast<std::int64_t>(from[d]);
      sum += std::ldexp(static_cast<double>(carried & low), bits * d + lowest);
      carried >>= bits;
    }
    return sum;
  }
};

}  // namespace cleave::tensor
