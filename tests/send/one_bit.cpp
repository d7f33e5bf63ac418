// send/one_bit.cpp - a bit an element and two means a block, compared with plain loops.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave/send/one_bit.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

#include "numbers.hpp"

using namespace cleave;

TEST_CASE("one bit: bytes of a message, and every element is the mean of those of its sign in its block") {
  static_assert(OneBit::bytes(0) == 0 && OneBit::bytes(1) == 9 && OneBit::bytes(512) == 72 && OneBit::bytes(513) == 81);
  static_assert(OneBit::bytes(1 << 20) * 28 < (1L << 20) * 4);  // 28 times less than f32
  for (long n : {1L, 7L, 8L, 9L, 511L, 512L, 513L, 1500L}) {
    CAPTURE(n);
    bool kept = false;
    auto const g = numbers::drawn(n, 3), back = numbers::there_and_back<OneBit>(g, kept);
    CHECK(kept);
    for (long first = 0; first < n; first += OneBit::block) {
      for (bool positive : {false, true}) {
        std::vector<float> sum(OneBit::block, 0.0f);  // folded by halves
        int count = 0;
        std::vector<std::size_t> of;
        for (long i = first; i < std::min(n, first + OneBit::block); ++i) {
          auto const k = static_cast<std::size_t>(i);
          if ((g[k] >= 0) != positive) continue;
          sum[static_cast<std::size_t>(i - first)] = g[k];
          ++count;
          of.push_back(k);
        }
        for (std::size_t half = sum.size() / 2; half > 0; half /= 2) {
          for (std::size_t i = 0; i < half; ++i) sum[i] += sum[half + i];
        }
        for (std::size_t k : of) REQUIRE(back[k] == sum[0] / static_cast<float>(count));
      }
    }
  }
}
TEST_CASE("a block of one sign; what is not finite stays so") {
  bool kept = false;
  CHECK(numbers::there_and_back<OneBit>({1, 3}, kept) == std::vector<float>{2, 2});
  CHECK(numbers::there_and_back<OneBit>({-1, -3}, kept) == std::vector<float>{-2, -2});
  for (float bad : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    auto const back = numbers::there_and_back<OneBit>({1, bad, -2}, kept);
    CHECK(!std::isfinite(back[0] + back[1] + back[2]));
  }
}
