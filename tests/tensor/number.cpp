// tensor/number.cpp - bf16 is the upper half of a float, rounded to nearest even; tf32 a float that products round.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <bit>
#include <cleave/tensor/number.hpp>

#include <cmath>

using cleave::bf16;
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

TEST_CASE("tf32 is kept whole, and multiplied to nearest, ties away from zero") {
  auto const factor = [](unsigned u) {
    return std::bit_cast<unsigned>(cleave::tensor::factor(tf32(std::bit_cast<float>(u))));
  };
  CHECK(static_cast<float>(tf32(1 + 0x1p-20f)) == 1 + 0x1p-20f);
  CHECK(factor(0x3f800fff) == 0x3f800000);
  CHECK(factor(0x3f801000) == 0x3f802000);
  CHECK(factor(0xbf801000) == 0xbf802000);
  CHECK(factor(0x7f800000) == 0x7f800000);
  CHECK(factor(0x7f800001) == 0x7f800001);
  CHECK(cleave::tensor::factor(1 + 0x1p-20f) == 1 + 0x1p-20f);  // a float's is its own
}
