// tensor/factor.hpp - the operand format of products and convolutions: a number as it is multiplied.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "eight_bits.hpp"
#include "number.hpp"

namespace cleave::tensor {

/// The role of an operand: inputs and weights need precision, gradients need range.
enum class Role : unsigned char { Value, Gradient };

/// Whether a number format has a scale for each tensor.
template <class T> inline constexpr bool scaled = std::is_same_v<T, fp8>;

/// Unchanged, or rounded to tf32.
template <class T> struct OwnFactor {
  CLEAVE_HD static constexpr OwnFactor of(T const*, long) { return {}; }
  CLEAVE_HD constexpr accumulate_t<T> operator()(T v) const {
    if constexpr (std::is_same_v<T, tf32>) {
      return tf32::rounded(v.value);
    } else {
      return static_cast<accumulate_t<T>>(v);
    }
  }
};

/// To e4m3 or e5m2, with a scale, the power of two that brings the tensor's largest finite magnitude as close as
/// possible to the format's; and back. Scaling is exact in both directions, so that all backends multiply the same
/// numbers.
template <Role R> struct EightBitFactor {
  using format = std::conditional_t<R == Role::Value, e4m3, e5m2>;
  float scale = 1;

  EightBitFactor() = default;
  CLEAVE_HD constexpr explicit EightBitFactor(std::uint32_t peak) : scale(scale_of(peak)) {}
  CLEAVE_HD static constexpr EightBitFactor of(fp8 const* p, long n) {
    std::uint32_t most = 0;
    for (long i = 0; i < n; ++i) most = p[i].magnitude() > most ? p[i].magnitude() : most;
    return EightBitFactor(most);
  }
  CLEAVE_HD constexpr float inverse() const {
    return __builtin_bit_cast(float, 0x7f000000u - __builtin_bit_cast(std::uint32_t, scale));
  }
  CLEAVE_HD constexpr float operator()(fp8 v) const {
    return format::nearest(static_cast<float>(v) * scale) * inverse();
  }

 private:
  /// At most 2^96, so that scaled operands stay clear of a float's subnormal numbers.
  CLEAVE_HD static constexpr float scale_of(std::uint32_t peak) {
    if (peak == 0) return 1;
    int const up = format::largest_exponent + 127 - static_cast<int>(peak >> 7) - ((peak & 0x7fu) > 0x60u ? 1 : 0);
    return __builtin_bit_cast(float, static_cast<std::uint32_t>(127 + (up < 96 ? up : 96)) << 23);
  }
};

/// For one tensor: a slice of the batch, or a weight's part on a rank.
template <class T, Role R = Role::Value> using Factor = std::conditional_t<scaled<T>, EightBitFactor<R>, OwnFactor<T>>;

}  // namespace cleave::tensor
