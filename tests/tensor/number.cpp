// tensor/number.cpp - bf16 is the upper half of a float and f16 is IEEE's half, both rounded to nearest even; tf32 and fp8 are kept as float and bf16.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <bit>
#include <cleave/tensor/number.hpp>

#include <cmath>

using cleave::bf16;
using cleave::f16;
using cleave::fp8;
using cleave::tf32;

TEST_CASE("every bf16 survives the way through float") {
  for (unsigned b = 0; b < 65536; ++b) {
    float const f = std::bit_cast<float>(b << 16);
    bf16 const back(f);
    if (f != f) {
      CHECK(static_cast<float>(back) != static_cast<float>(back));
    } else {
      REQUIRE(back.bits == b);
    }
  }
}

TEST_CASE("rounding is to nearest, ties to even, and NaN stays NaN") {
  CHECK(static_cast<float>(bf16(1.0f + 0x1p-9f)) == 1.0f);            // less than half a step
  CHECK(static_cast<float>(bf16(1.0f + 0x1p-8f)) == 1.0f);            // a tie, to the even 1.0
  CHECK(static_cast<float>(bf16(1.0f + 0x3p-8f)) == 1.0f + 0x1p-6f);  // a tie, to the even above
  CHECK(static_cast<float>(bf16(1.0f + 0x1.1p-8f)) == 1.0f + 0x1p-7f);
  CHECK(std::isinf(static_cast<float>(bf16(3.4e38f))));
  CHECK(std::isnan(static_cast<float>(bf16(std::bit_cast<float>(0x7f800001u)))));
}

TEST_CASE("an f16 is its fraction times a power of two, and survives the way through float") {
  for (unsigned b = 0; b < 65536; ++b) {
    f16 const half = std::bit_cast<f16>(static_cast<std::uint16_t>(b));
    int const exponent = static_cast<int>(b >> 10 & 31), fraction = static_cast<int>(b & 1023);
    double const m = exponent == 31
                         ? INFINITY
                         : std::ldexp(fraction + (exponent > 0 ? 1024 : 0), (exponent > 0 ? exponent : 1) - 25);
    float const f = static_cast<float>(half);
    f16 const back(f);
    if (exponent == 31 && fraction != 0) {
      REQUIRE(std::isnan(f));
      REQUIRE(std::isnan(static_cast<float>(back)));
    } else {
      REQUIRE(static_cast<double>(half) == (b < 32768 ? m : -m));
      REQUIRE(back.bits == b);
    }
  }
}
TEST_CASE("a float between two of f16 goes to the nearer; from the middle to the even one") {
  for (std::uint16_t b = 0; b < 0x7c00; ++b) {
    float const low = static_cast<float>(std::bit_cast<f16>(b));
    float const high = b == 0x7bff ? 65536 : static_cast<float>(std::bit_cast<f16>(static_cast<std::uint16_t>(b + 1)));
    float const middle = (low + high) / 2;  // exact
    REQUIRE(f16(middle).bits == b + (b & 1));
    REQUIRE(f16(std::nextafter(middle, 0.0f)).bits == b);
    REQUIRE(f16(std::nextafter(middle, 1e6f)).bits == b + 1);
    REQUIRE(f16(-middle).bits == (f16(middle).bits | 0x8000));
  }
  CHECK(std::isinf(static_cast<float>(f16(1e30f))));
  CHECK(std::isnan(static_cast<float>(f16(std::bit_cast<float>(0xff800001u)))));
  static_assert(static_cast<float>(f16(1.0f + 0x1p-11f)) == 1);
}

TEST_CASE("tf32 is kept whole, and fp8 as bf16") {
  CHECK(static_cast<float>(tf32(1 + 0x1p-20f)) == 1 + 0x1p-20f);
  CHECK(static_cast<double>(fp8(1 + 0x1p-7f)) == 1 + 0x1p-7);
  CHECK(static_cast<float>(fp8(1 + 0x1p-8f)) == 1);
  static_assert(sizeof(fp8) == 2);
}
TEST_CASE("an fp8's magnitude grows with it, whatever its sign, and is 0 where it is not finite") {
  CHECK(fp8(-2.f).magnitude() == fp8(2.f).magnitude());
  CHECK(fp8(-2.f).magnitude() > fp8(1.9f).magnitude());
  CHECK(fp8(1e-39f).magnitude() > fp8(0.f).magnitude());
  CHECK(fp8(NAN).magnitude() == 0);
  CHECK(fp8(-INFINITY).magnitude() == 0);
}
