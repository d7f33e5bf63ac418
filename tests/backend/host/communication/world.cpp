// backend/host/communication/world.cpp - waits end: with the mark, with an error that names who and where, or with the failure of another rank.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave/backend/host/team.hpp>

using namespace cleave;
using namespace cleave::backend::host;

TEST_CASE("a rank that never comes is an error within the deadline") {
  World world({2, 1}, 4, std::chrono::milliseconds(50));
  Team team(world);
  CHECK_THROWS_WITH_AS(team.run([&](int r) {
    if (r == 0) world.await(1, 3, 1, 0);
  }),
                       doctest::Contains("rank 0 waited 50 ms for rank 1 at step 3"), Error);
}

TEST_CASE("when one rank fails the others stop waiting, and its failure is what is told") {
  World world({3, 1}, 1);
  Team team(world);
  CHECK_THROWS_WITH_AS(team.run([&](int r) {
    if (r == 2) throw Error("disk full");
    world.await(2, 0, 1, r);
  }),
                       "disk full", Error);
}

TEST_CASE("marks only grow, and are seen with what was written before them") {
  World world({2, 1}, 1);
  Team team(world);
  long value = 0, seen = 0;
  team.run([&](int r) {
    for (long k = 1; k <= 2000; ++k) {
      if (r == 0) {
        world.await(1, 0, k - 1, 0);
        value = k;
        world.reach(0, 0, k);
      } else {
        world.await(0, 0, k, 1);
        seen += value == k;
        world.reach(1, 0, k);
      }
    }
  });
  CHECK(seen == 2000);
}
