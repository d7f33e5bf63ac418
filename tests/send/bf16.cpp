// send/bf16.cpp - two bytes an element, each rounded as the number format rounds.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave/send/bf16.hpp>

#include "numbers.hpp"

using namespace cleave;

TEST_CASE("bf16: half the bytes; every element is the nearest bf16") {
  static_assert(send::Bf16::bytes(1000) * 2 == 1000 * long{sizeof(float)});
  for (long n : {0L, 1L, 1001L}) {
    bool kept = false;
    auto const g = numbers::drawn(n, 1), back = numbers::there_and_back<send::Bf16>(g, kept);
    CHECK(kept);
    for (std::size_t i = 0; i < g.size(); ++i) REQUIRE(back[i] == static_cast<float>(bf16(g[i])));
  }
}
