// tensor/factor.hpp - a number as products of matrices and convolutions multiply it, in the format of sums.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "eight_bits.hpp"
#include "number.hpp"

namespace cleave::tensor {

/// What an operand is: inputs and weights want precision, gradients want range.
enum class Role : unsigned char { Value, Gradient };

/// Is a number multiplied at a scale of its tensor?
template <class T> inline constexpr bool scaled = std::is_same_v<T, fp8>;

/// As it is, or as tf32 rounds it.
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

/// To e4m3 or e5m2, where the scale, a power of two, takes the tensor's largest finite magnitude as far up as these
/// formats go; and back. Both ways are exact, so whoever multiplies, multiplies the same numbers.
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
  /// At most 2^96, so that what is multiplied stays clear of a float's last bits.
  CLEAVE_HD static constexpr float scale_of(std::uint32_t peak) {
    if (peak == 0) return 1;
    int const up = format::largest_exponent + 127 - static_cast<int>(peak >> 7) - ((peak & 0x7fu) > 0x60u ? 1 : 0);
    return __builtin_bit_cast(float, static_cast<std::uint32_t>(127 + (up < 96 ? up : 96)) << 23);
  }
};

/// Of one tensor: a slice of the batch, or a weight as a rank has it.
template <class T, Role R = Role::Value> using Factor = std::conditional_t<scaled<T>, EightBitFactor<R>, OwnFactor<T>>;

}  // namespace cleave::tensor
