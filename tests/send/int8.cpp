// send/int8.cpp - a byte an element and four a block; no error above half a step of the block's scale.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave/send/int8.hpp>

#include <algorithm>
#include <limits>

#include "numbers.hpp"

using namespace cleave;

TEST_CASE("int8: bytes of a message, and its largest error block by block") {
  static_assert(Int8::bytes(0) == 0 && Int8::bytes(1) == 5 && Int8::bytes(256) == 260 && Int8::bytes(257) == 265);
  for (long n : {0L, 1L, 255L, 256L, 257L, 1000L}) {
    CAPTURE(n);
    bool kept = false;
    auto const g = numbers::drawn(n, 2), back = numbers::there_and_back<Int8>(g, kept);
    CHECK(kept);
    for (long first = 0; first < n; first += Int8::block) {
      float top = 0;
      long const past = std::min(n, first + Int8::block);
      for (long i = first; i < past; ++i) top = std::max(top, std::fabs(g[static_cast<std::size_t>(i)]));
      for (long i = first; i < past; ++i) {
        auto const k = static_cast<std::size_t>(i);
        REQUIRE(std::fabs(back[k] - g[k]) <= 0.5002f * top / 127);
      }
    }
  }
}
TEST_CASE("whole numbers up to 127 come back as they are; ties go away from zero") {
  std::vector<float> g{127, -127, 1, -1, 0, 2.5f, -2.5f, 0.49f};
  bool kept = false;
  CHECK(numbers::there_and_back<Int8>(g, kept) == std::vector<float>{127, -127, 1, -1, 0, 3, -3, 0});
}
TEST_CASE("nothing, next to nothing, and what is not finite") {
  bool kept = false;
  float const inf = std::numeric_limits<float>::infinity(), tiny = std::numeric_limits<float>::denorm_min();
  CHECK(numbers::there_and_back<Int8>({0, 0}, kept) == std::vector<float>{0, 0});
  CHECK(numbers::there_and_back<Int8>({tiny, -tiny}, kept) == std::vector<float>{0, 0});
  float const large = 3e38f;
  for (float v : numbers::there_and_back<Int8>({-large, large}, kept))
    CHECK(std::fabs(v) == doctest::Approx(large).epsilon(0.001));
  CHECK(numbers::there_and_back<Int8>({-large, 1}, kept)[0] < 0);
  for (float bad : {inf, -inf, std::numeric_limits<float>::quiet_NaN(), __builtin_bit_cast(float, 0x7fffffffu)}) {
    auto const back = numbers::there_and_back<Int8>({1, bad, 2}, kept);
    CHECK(std::isnan(back[0] + back[1] + back[2]));
  }
}
