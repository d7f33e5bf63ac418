// schedule/shard.cpp - the runs of all ways put together are the whole, each element once.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave/schedule/shard.hpp>
#include <vector>

using namespace cleave;

TEST_CASE("complete and disjoint") {
  for (Shape s : {Shape(12), Shape(4, 6), Shape(8, 3, 5), Shape(4, 2, 3, 3)}) {
    for (int dim = 0; dim < s.dims; ++dim) {
      for (int n : {1, 2, 3, 4}) {
        if (s[dim] % n != 0) continue;
        std::vector<int> times(static_cast<std::size_t>(s.size()), 0);
        for (int w = 0; w < n; ++w) {
          long next = 0;
          schedule::each_run(s, place::shard(dim), w, n, [&](long local, long global, long count) {
            CHECK(local == next);
            next += count;
            for (long i = 0; i < count; ++i) times[static_cast<std::size_t>(global + i)]++;
          });
          CHECK(next == s.size() / n);
        }
        for (int t : times) REQUIRE(t == 1);
      }
    }
  }
  int runs = 0;
  schedule::each_run(Shape(4, 6), place::invariant, 1, 2, [&](long, long, long count) { runs += count == 24; });
  CHECK(runs == 1);
}
