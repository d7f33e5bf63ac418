// train/process_group.cpp - a process that nobody has started is a group of one; what cannot be a group is refused.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave/train/process_group.hpp>

#include <cstdlib>

using namespace cleave;

TEST_CASE("a group of one") {
  ProcessGroup group;
  CHECK(group.size() == 1);
  CHECK(group.leads());
  CHECK(group.remote() == nullptr);
  CHECK(group.replicas(1, 0) == 1);
  CHECK_THROWS_WITH_AS(group.replicas(2, 0), doctest::Contains("start a multiple of 2"), Error);
  CHECK(group.replicas(1, 3) == 3);
  group.check_same(7, "another number");
  CHECK(group.fail(Error("as it should be")) == 2);
  CHECK(group.fail(Diverged("as it should be")) == 3);
}
TEST_CASE("an exception passes through a group of one as through anything else") {
  CHECK_THROWS_AS(
      [] {
        ProcessGroup const group;
        throw Error("passes");
      }(),
      Error);
}
TEST_CASE("processes that would train alone are refused") {
  ::setenv("RANK", "0", 1);
  ::setenv("WORLD_SIZE", "2", 1);
  CHECK_THROWS_WITH_AS(ProcessGroup(), doctest::Contains("and each would train alone: build with cleave::mpi"), Error);
  ::unsetenv("RANK");
  ::unsetenv("WORLD_SIZE");
}
