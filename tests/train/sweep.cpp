// train/sweep.cpp - settings are tried in processes of their own; the best come first, and one that dies is told.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave/train/sweep.hpp>

#include <csignal>
#include <stdexcept>

using namespace cleave;

TEST_CASE("the best settings come first, however many run at once") {
  std::vector<int> const settings{3, 1, 4, 1, 5, 9, 2, 6};
  for (int at_once : {1, 3, 20}) {
    auto const tried = sweep(settings, at_once, [](int s) { return s == 9 ? 0.0 : 10.0 / s; });
    REQUIRE(tried.size() == settings.size());
    CHECK(tried[0].setting == 1);
    CHECK(tried[0].score == 10);
    CHECK(tried[2].setting == 2);
    CHECK(tried.back().setting == 9);
    for (auto const& t : tried) CHECK(t.error.empty());
  }
  CHECK(sweep(std::vector<int>{}, 2, [](int) { return 0.0; }).empty());
}

TEST_CASE("each setting has a process of its own") {
  int changed = 0;
  pid_t const here = ::getpid();
  auto const tried = sweep(std::vector<int>{1, 2, 3}, 2, [&](int) {
    ++changed;
    return static_cast<double>(::getpid() != here) + changed;
  });
  for (auto const& t : tried) CHECK(t.score == 2);
  CHECK(changed == 0);
}

TEST_CASE("one that throws, leaves or is killed is told, and the others go on") {
  auto const tried = sweep(std::vector<int>{0, 1, 2, 3}, 2, [](int s) -> double {
    if (s == 1) throw Error("setting 1 has diverged");
    if (s == 2) std::raise(SIGKILL);
    if (s == 3) ::_exit(7);
    return 0.5;
  });
  CHECK(tried[0].setting == 0);
  CHECK(tried[0].score == 0.5);
  CHECK(tried[1].error == "setting 1 has diverged");
  CHECK(tried[2].error == "its process was ended by signal 9");
  CHECK(tried[3].error == "its process ended with code 7");
  CHECK_THROWS_WITH_AS(sweep(std::vector<int>{1}, 0, [](int) { return 0.0; }),
                       "sweep: 0 processes at once; say at least 1", Error);
}
