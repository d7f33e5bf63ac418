// tensor/number.hpp - number formats of tensors, and the format of their sums.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <string_view>
#include <type_traits>

#include "twofold.hpp"

namespace cleave {

using f32 = float;
using f64 = double;

/// Brain float: the upper half of a float. Rounded to nearest even; NaN stays NaN.
struct bf16 {
  std::uint16_t bits;

  bf16() = default;
  CLEAVE_HD constexpr explicit bf16(float value) : bits(round(__builtin_bit_cast(std::uint32_t, value))) {}
  CLEAVE_HD constexpr explicit operator float() const { return __builtin_bit_cast(float, std::uint32_t{bits} << 16); }
  CLEAVE_HD constexpr explicit operator double() const { return static_cast<double>(static_cast<float>(*this)); }

 private:
  CLEAVE_HD static constexpr std::uint16_t round(std::uint32_t u) {
    std::uint32_t const nan = (u & 0x7fffffffu) > 0x7f800000u ? 1u : 0u;
    std::uint32_t const up = u + 0x7fffu + ((u >> 16) & 1u);
    return static_cast<std::uint16_t>(nan ? (u >> 16) | 0x40u : up >> 16);
  }
};

/// IEEE 754's half precision: 5 bits of exponent, 10 of fraction. Rounded to nearest even, infinite from 65520 on; NaN
/// stays NaN. Gradients up to 2^-25 become 0: see LossScale.
struct f16 {
  std::uint16_t bits;

  f16() = default;
  CLEAVE_HD constexpr explicit f16(float value) : bits(round(value)) {}
  CLEAVE_HD constexpr explicit operator float() const {
#ifdef __CUDA_ARCH__
    if (!__builtin_is_constant_evaluated()) {
      float f;
      asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(bits));
      return f;
    }
#endif
    std::uint32_t const magnitude = std::uint32_t{bits & 0x7fffu} << 13, sign = std::uint32_t{bits & 0x8000u} << 16;
    std::uint32_t const finite =
        __builtin_bit_cast(std::uint32_t, __builtin_bit_cast(float, magnitude) * 0x1p112f);  // exact
    return __builtin_bit_cast(float, ((bits & 0x7c00u) == 0x7c00u ? magnitude | 0x7f800000u : finite) | sign);
  }
  CLEAVE_HD constexpr explicit operator double() const { return static_cast<double>(static_cast<float>(*this)); }

 private:
  CLEAVE_HD static constexpr std::uint16_t round(float value) {
#ifdef __CUDA_ARCH__
    if (!__builtin_is_constant_evaluated()) {
      std::uint16_t h;
      asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(value));
      return h;
    }
#endif
    std::uint32_t const u = __builtin_bit_cast(std::uint32_t, value), m = u & 0x7fffffffu;
    std::uint32_t const normal = (m - 0x38000000u + 0xfffu + ((m >> 13) & 1u)) >> 13;
    // The sum with 1/2, whose last bit is 2^-24, is rounded to a whole number of these.
    std::uint32_t const small =
        __builtin_bit_cast(std::uint32_t, __builtin_bit_cast(float, m < 0x38800000u ? m : 0u) + 0.5f) - 0x3f000000u;
    std::uint32_t const none = m > 0x7f800000u ? 0x7e00u : 0x7c00u;
    std::uint32_t const all = m >= 0x47800000u ? none : m < 0x38800000u ? small : normal;
    return static_cast<std::uint16_t>(all | (u >> 16 & 0x8000u));
  }
};

/// A float in memory, messages and sums; operands of products and convolutions are rounded to 10 bits of fraction, to
/// nearest, ties away from zero, as tensor cores need them.
struct tf32 {
  float value;

  tf32() = default;
  CLEAVE_HD constexpr explicit tf32(float v) : value(v) {}
  CLEAVE_HD constexpr explicit operator float() const { return value; }
  CLEAVE_HD constexpr explicit operator double() const { return static_cast<double>(value); }
  CLEAVE_HD static constexpr float rounded(float v) {
    std::uint32_t const u = __builtin_bit_cast(std::uint32_t, v);
    bool const finite = (u & 0x7f800000u) != 0x7f800000u;
    return __builtin_bit_cast(float, finite ? (u + 0x1000u) & 0xffffe000u : u);
  }
};

/// A bf16 in memory, messages and updates; operands of products and convolutions have 8 bits, with a scale for each
/// tensor (factor.hpp).
struct fp8 {
  bf16 value;

  fp8() = default;
  CLEAVE_HD constexpr explicit fp8(float v) : value(v) {}
  CLEAVE_HD constexpr explicit operator float() const { return static_cast<float>(value); }
  CLEAVE_HD constexpr explicit operator double() const { return static_cast<double>(value); }
  /// The bits without the sign, which are ordered like magnitudes; 0 for numbers that are not finite.
  CLEAVE_HD constexpr std::uint32_t magnitude() const {
    std::uint32_t const m = value.bits & 0x7fffu;
    return m < 0x7f80u ? m : 0u;
  }
};

}  // namespace cleave

namespace cleave::tensor {

/// Sums are taken in f32, or in f64 when the data is f64.
template <class T>
using accumulate_t = std::conditional_t<std::is_same_v<T, f64> || std::is_same_v<T, Twofold>, T, f32>;

/// Sums over the batch that a model reads (BatchNorm's of x and x^2) are taken with twice the digits: the variance, a
/// difference of such sums, then stays accurate if the mean is large.
template <class T> using batch_sum_t = std::conditional_t<std::is_same_v<accumulate_t<T>, f32>, f64, Twofold>;
CLEAVE_HD constexpr f64 mean_of(f64 sum, long n) { return sum * (1 / static_cast<f64>(n)); }
CLEAVE_HD inline Twofold mean_of(Twofold sum, long n) { return sum / static_cast<f64>(n); }

/// A format that a plan can train in is one that has a name.
template <class T> inline constexpr std::string_view name_of = "?";
template <> inline constexpr std::string_view name_of<f32> = "f32";
template <> inline constexpr std::string_view name_of<f64> = "f64";
template <> inline constexpr std::string_view name_of<bf16> = "bf16";
template <> inline constexpr std::string_view name_of<f16> = "f16";
template <> inline constexpr std::string_view name_of<tf32> = "tf32";
template <> inline constexpr std::string_view name_of<fp8> = "fp8";
template <class T> inline constexpr bool trains = name_of<T> != "?";

}  // namespace cleave::tensor
