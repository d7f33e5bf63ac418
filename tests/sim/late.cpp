// sim/late.cpp - the mean step of replicas of which some are not waited for.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave/sim/late.hpp>

using namespace cleave;

TEST_CASE("without spares a step takes the mean of the largest of n; the first of two takes half a mean") {
  CHECK(sim::exponential_step(1, 0) == 1);
  CHECK(sim::exponential_step(2, 0) == doctest::Approx(1.5));
  CHECK(sim::exponential_step(3, 0) == doctest::Approx(1 + 1.0 / 2 + 1.0 / 3));
  // One fresh, one late: the first to end is either. The fresh one: done. The late one: then there are two fresh ones.
  CHECK(sim::exponential_step(2, 1) == doctest::Approx(0.5 + 0.5 * 0.5));
}
TEST_CASE("steps of many replicas, and arguments that are impossible") {
  CHECK(sim::exponential_step(1000, 64) < sim::exponential_step(1000, 10));
  static_assert(sim::exponential_step(64, 16) > 1);
  CHECK(sim::exponential_step(2, 2) == 0);
}
TEST_CASE("a spare helps less than if late gradients were abandoned, and always helps") {
  for (int n = 3; n <= 20; ++n) {
    double left = 0;
    for (int k = 3; k <= n; ++k) left += 1.0 / k;
    CHECK(sim::exponential_step(n, 2) > left);
    CHECK(sim::exponential_step(n, 2) < sim::exponential_step(n, 1));
    CHECK(sim::exponential_step(n, 1) < sim::exponential_step(n, 0));
  }
}
