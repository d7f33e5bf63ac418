// backend/host/team.cpp - one thread per rank, made once; a single rank on the caller's own; the lowest failure is thrown.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave/backend/host/team.hpp>

#include <atomic>

using namespace cleave;
using namespace cleave::backend::host;

TEST_CASE("every rank runs, on a thread of its own that it keeps") {
  World world({4, 1}, 1);
  Team team(world);
  std::vector<std::thread::id> first(4), second(4);
  team.run([&](int r) { first[static_cast<std::size_t>(r)] = std::this_thread::get_id(); });
  team.run([&](int r) { second[static_cast<std::size_t>(r)] = std::this_thread::get_id(); });
  CHECK(first == second);
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(first[i] != std::this_thread::get_id());
    for (std::size_t k = 0; k < i; ++k) CHECK(first[i] != first[k]);
  }
}

TEST_CASE("a single rank runs on the caller's thread") {
  World world({1, 1}, 1);
  Team team(world);
  std::thread::id who;
  team.run([&](int) { who = std::this_thread::get_id(); });
  CHECK(who == std::this_thread::get_id());
  CHECK_THROWS_WITH_AS(team.run([](int) { throw Error("alone"); }), "alone", Error);
}

TEST_CASE("run returns when all are done; a failure is thrown once, and the team goes on") {
  World world({3, 1}, 1);
  Team team(world);
  std::atomic<int> done{0};
  for (int k = 1; k <= 200; ++k) {
    team.run([&](int) { done.fetch_add(1); });
    REQUIRE(done.load() == 3 * k);
  }
  CHECK_THROWS_WITH_AS(team.run([](int r) {
    if (r > 0) throw Error("rank " + std::to_string(r));
  }),
                       "rank 1", Error);
  CHECK_NOTHROW(team.run([&](int) { done.fetch_add(1); }));
  CHECK(done.load() == 603);
}
