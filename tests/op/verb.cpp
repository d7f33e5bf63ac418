// op/verb.cpp - what each collective sends, and parts that are complete and disjoint.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave/op/verb.hpp>

using namespace cleave::op;

TEST_CASE("parts are contiguous, complete and nearly equal") {
  for (long e : {0L, 1L, 7L, 64L, 1001L}) {
    for (int n = 1; n <= 9; ++n) {
      long next = 0;
      for (int r = 0; r < n; ++r) {
        CHECK(part_begin(e, r, n) == next);
        CHECK(part_size(e, r, n) >= e / n);
        CHECK(part_size(e, r, n) <= e / n + 1);
        next += part_size(e, r, n);
      }
      CHECK(next == e);
    }
  }
}

TEST_CASE("an all-reduce sends 2(n-1)/n of the elements, and all that is sent is received") {
  CHECK(sent(Verb::AllReduce, 500'000, 250'000, 2) == 500'000);
  CHECK(sent(Verb::AllReduce, 1000, 250, 4) == 1500);
  CHECK(sent(Verb::AllGather, 1000, 250, 4) == 750);
  CHECK(sent(Verb::ReduceScatter, 1000, 250, 4) == 750);
  CHECK(sent(Verb::AllToAll, 1000, 250, 5) == 200);
  CHECK(sent(Verb::Slice, 1000, 250, 4) == 0);
  CHECK(sent(Verb::AllReduce, 1000, 1000, 1) == 0);
  long all = 0;
  for (int r = 0; r < 3; ++r) all += sent(Verb::AllReduce, 1000, part_size(1000, r, 3), 3);
  CHECK(all == 2 * 2 * 1000);
}
