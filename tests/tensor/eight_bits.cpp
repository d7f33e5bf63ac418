// tensor/eight_bits.cpp - e4m3 and e5m2: every code, every midpoint between two, subnormals, saturation, what is no number.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <bit>
#include <cleave/tensor/eight_bits.hpp>

#include <cmath>
#include <initializer_list>
#include <limits>

using cleave::e4m3;
using cleave::e5m2;

namespace {

template <class F> F coded(unsigned code) {
  F f;
  f.bits = static_cast<std::uint8_t>(code);
  return f;
}

/// What the code means, from the definition of the format.
double meaning(unsigned code, int fraction_bits, int bias) {
  int const exponent = static_cast<int>(code & 0x7fu) >> fraction_bits;
  double const fraction = static_cast<double>(code & ((1u << fraction_bits) - 1)) / (1 << fraction_bits);
  double const v = exponent == 0 ? std::ldexp(fraction, 1 - bias) : std::ldexp(1 + fraction, exponent - bias);
  return code & 0x80u ? -v : v;
}

template <class F> void every_code(int fraction_bits, int bias, unsigned last) {
  for (unsigned code = 0; code < 256; ++code) {
    CAPTURE(code);
    float const v = static_cast<float>(coded<F>(code));
    if ((code & 0x7fu) > last) {
      CHECK(!std::isfinite(v));
    } else {
      CHECK(static_cast<double>(v) == meaning(code, fraction_bits, bias));
      CHECK(std::signbit(v) == (code >= 128));
      CHECK(F::rounded(v) == v);
    }
    F const again(v);
    if (std::isnan(v)) {
      CHECK(std::isnan(static_cast<float>(again)));
    } else {
      CHECK(again.bits == code);
    }
  }
}

/// Between two neighbours: below the middle, the middle, above it, with either sign.
template <class F> void every_middle(unsigned last) {
  for (unsigned code = 0; code < last; ++code) {
    CAPTURE(code);
    float const low = static_cast<float>(coded<F>(code)), high = static_cast<float>(coded<F>(code + 1));
    float const middle = (low + high) / 2;
    for (float sign : {1.f, -1.f}) {
      unsigned const top = sign < 0 ? 128 : 0;
      CHECK(F(sign * std::nextafter(middle, 0.f)).bits == top + code);
      CHECK(F(sign * middle).bits == top + (code % 2 == 0 ? code : code + 1));
      CHECK(F(sign * std::nextafter(middle, 1e9f)).bits == top + code + 1);
      CHECK(F::rounded(sign * middle) == static_cast<float>(F(sign * middle)));
    }
  }
}

}  // namespace

TEST_CASE("every code of e4m3 and e5m2 means what the format says, and survives the way through float") {
  every_code<e4m3>(3, 7, 0x7e);
  every_code<e5m2>(2, 15, 0x7b);
}
TEST_CASE("rounding is to nearest, ties to even, among subnormals as well") {
  every_middle<e4m3>(0x7e);
  every_middle<e5m2>(0x7b);
  CHECK(e4m3::rounded(0x1p-9f) == 0x1p-9f);
  CHECK(e4m3::rounded(0x1p-10f) == 0);
  CHECK(e5m2::rounded(0x1.8p-16f) == 0x1p-15f);
  CHECK(std::signbit(e5m2::rounded(-0x1p-40f)));
  CHECK(e4m3::rounded(std::numeric_limits<float>::denorm_min()) == 0);
}
TEST_CASE("a finite number beyond the largest becomes the largest; what is not finite stays so") {
  CHECK(e4m3::largest == 448);
  CHECK(e5m2::largest == 57344);
  for (float v : {449.f, 464.f, 465.f, 1e6f, 3.4e38f}) {
    CHECK(e4m3::rounded(v) == 448);
    CHECK(e4m3(-v).bits == 0xfe);
  }
  for (float v : {61440.f, 65536.f, 3.4e38f}) {
    CHECK(e5m2::rounded(-v) == -57344);
    CHECK(e5m2(v).bits == 0x7b);
  }
  float const infinite = std::numeric_limits<float>::infinity();
  CHECK(std::isnan(e4m3::rounded(infinite)));
  CHECK(std::isnan(static_cast<float>(e4m3(-infinite))));
  CHECK(e5m2::rounded(-infinite) == -infinite);
  CHECK(static_cast<float>(e5m2(infinite)) == infinite);
  for (std::uint32_t nan : {0x7f800001u, 0x7fc00000u, 0x7fffffffu, 0xffffffffu, 0xffff0000u}) {
    CHECK(std::isnan(e4m3::rounded(std::bit_cast<float>(nan))));
    CHECK(std::isnan(e5m2::rounded(std::bit_cast<float>(nan))));
    CHECK(std::isnan(static_cast<float>(e4m3(std::bit_cast<float>(nan)))));
    CHECK(std::isnan(static_cast<float>(e5m2(std::bit_cast<float>(nan)))));
  }
}
TEST_CASE("at compile time too") {
  static_assert(e4m3(1.f).bits == 0x38 && e5m2(1.f).bits == 0x3c && static_cast<float>(e4m3(0.3f)) == 0.3125f);
  static_assert(e4m3::least_normal == 0x1p-6f && e5m2::least_normal == 0x1p-14f);
}
