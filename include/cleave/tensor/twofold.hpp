// tensor/twofold.hpp - a number of about 106 bits: the sum of two f64, the second of which holds the first one's rounding.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cmath>

#include "../meta/host_device.hpp"

namespace cleave::tensor {

/// Sums and products have an error below 2^-100 of the operands. Source: Dekker, "A floating-point technique for
/// extending the available precision", 1971; Knuth, "The art of computer programming", volume 2, 4.2.2, theorem B.
struct Twofold {
  double high, low;

  Twofold() = default;
  CLEAVE_HD constexpr explicit Twofold(double v) : high(v), low(0) {}
  CLEAVE_HD constexpr Twofold(double h, double l) : high(h), low(l) {}
  CLEAVE_HD constexpr explicit operator double() const { return high; }

  CLEAVE_HD friend constexpr Twofold operator+(Twofold a, Twofold b) {
    double const sum = a.high + b.high, of_b = sum - a.high;
    return joined(sum, (a.high - (sum - of_b)) + (b.high - of_b) + (a.low + b.low));
  }
  CLEAVE_HD friend constexpr Twofold operator-(Twofold a, Twofold b) { return a + Twofold{-b.high, -b.low}; }
  CLEAVE_HD friend Twofold operator*(Twofold a, Twofold b) {
    double const product = a.high * b.high;
    return joined(product, std::fma(a.high, b.high, -product) + (a.high * b.low + a.low * b.high));
  }
  CLEAVE_HD friend Twofold operator/(Twofold a, double b) {
    double const quotient = a.high / b;
    return joined(quotient, (std::fma(-quotient, b, a.high) + a.low) / b);
  }
  CLEAVE_HD constexpr Twofold& operator+=(Twofold b) { return *this = *this + b; }
  CLEAVE_HD friend constexpr bool operator<(Twofold a, Twofold b) {
    return a.high < b.high || (a.high == b.high && a.low < b.low);
  }
  CLEAVE_HD friend constexpr bool operator==(Twofold a, Twofold b) { return a.high == b.high && a.low == b.low; }

 private:
  /// The sum of two numbers, the second of which is smaller.
  CLEAVE_HD static constexpr Twofold joined(double large, double small) {
    double const sum = large + small;
    return {sum, small - (sum - large)};
  }
};

}  // namespace cleave::tensor
