// tensor/elementary.hpp - exp, tanh, erf and the logistic function without branches, so that loops over them vectorise.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "../meta/host_device.hpp"

namespace cleave::tensor {

// For float on the host; for double, and on a device, the standard library's. Coefficients were fitted to least largest
// relative error in f64 and rounded. NaN stays NaN.

namespace elementary {

template <class A> CLEAVE_HD constexpr A within(A x, A low, A high) {
  x = x < low ? low : x;  // a NaN passes
  return x > high ? high : x;
}
/// c0 + c1 x + c2 x^2 + ...
template <class... C> CLEAVE_HD constexpr float polynomial(float x, float c0, C... c) {
  if constexpr (sizeof...(C) == 0) {
    return c0;
  } else {
    return c0 + x * polynomial(x, c...);
  }
}

/// Within 2 units in the last place; 0 and infinity beyond the range of float. exp x = 2^n exp r, |r| <= log(2) / 2.
inline float exp(float x) {
  constexpr float shift = 12582912;  // 1.5 * 2^23: a sum with it is rounded to a whole number, in its low bits
  x = within(x, -104.0f, 89.0f);
  float const shifted = x * 1.44269504f + shift, n = shifted - shift;
  float const r = (x - n * 0.693359375f) + n * 2.12194440e-4f;  // log 2 in two parts, the first with few bits
  float const g = polynomial(r, 0.5f, 0.16666667f, 0.041666254f, 0.008333263f, 0.0013947225f, 0.00019919378f);
  auto const whole = static_cast<std::int32_t>(std::bit_cast<std::uint32_t>(shifted) << 10) >> 10;  // n
  std::int32_t const half = whole >> 1;  // in two factors, since 2^n may be none
  auto const power = [](std::int32_t k) { return std::bit_cast<float>(static_cast<std::uint32_t>(k + 127) << 23); };
  return (g * (r * r) + r + 1.0f) * power(half) * power(whole - half);
}
/// x P(x^2) / Q(x^2) up to 9, where it is 1.
inline float tanh(float x) {
  x = within(x, -9.0f, 9.0f);
  float const s = x * x;
  float const y = x * polynomial(s, 1.0f, 0.13381039f, 0.0034956037f, 2.0609308e-05f, 1.3354918e-08f) /
                  polynomial(s, 1.0f, 0.46714355f, 0.025877043f, 0.00032856590f, 7.7766753e-07f);
  return within(y, -1.0f, 1.0f);
}
inline float erf(float x) {
  x = within(x, -3.93f, 3.93f);
  float const s = x * x;
  float const y = x *
                  polynomial(s, 1.1283791f, 0.19078171f, 0.052789895f, 0.0037794825f, 0.00028479964f, 2.0419102e-06f) /
                  polynomial(s, 1.0f, 0.50240861f, 0.11425654f, 0.014997196f, 0.0011651702f, 3.8002973e-05f);
  return within(y, -1.0f, 1.0f);
}

}  // namespace elementary

template <class A> CLEAVE_HD A exp(A x) {
#ifndef __CUDA_ARCH__
  if constexpr (sizeof(A) == 4) return elementary::exp(x);
#endif
  return std::exp(x);
}
template <class A> CLEAVE_HD A tanh(A x) {
#ifndef __CUDA_ARCH__
  if constexpr (sizeof(A) == 4) return elementary::tanh(x);
#endif
  return std::tanh(x);
}
template <class A> CLEAVE_HD A erf(A x) {
#ifndef __CUDA_ARCH__
  if constexpr (sizeof(A) == 4) return elementary::erf(x);
#endif
  return std::erf(x);
}
/// 1 / (1 + exp(-x)).
template <class A> CLEAVE_HD A logistic(A x) { return A{1} / (A{1} + tensor::exp(-x)); }

}  // namespace cleave::tensor
