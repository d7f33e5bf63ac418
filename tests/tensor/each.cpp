// tensor/each.cpp - every index once, in blocks and in the rest behind them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave/tensor/each.hpp>
#include <vector>

TEST_CASE("every index below n, once") {
  for (long n : {0L, 1L, 63L, 64L, 65L, 128L, 1000L}) {
    std::vector<int> times(static_cast<std::size_t>(n) + 1);
    cleave::tensor::each(n, [&](long i) { ++times[static_cast<std::size_t>(i)]; });
    for (long i = 0; i < n; ++i) CHECK(times[static_cast<std::size_t>(i)] == 1);
    CHECK(times.back() == 0);
  }
}
