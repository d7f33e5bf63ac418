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
          schedule::each_run(s, 1, {{place::invariant, place::shard(dim)}}, {0, n}, w,
                             [&](long local, long global, long count) {
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
  schedule::each_run(Shape(4, 6), 1, {}, {0, 2}, 1, [&](long, long, long count) { runs += count == 24; });
  CHECK(runs == 1);
}

TEST_CASE("along two axes: of each dimension a part, or of one dimension parts of parts") {
  place::DeviceMesh const mesh{0, 2, 3};
  for (place::Sharding const& sharding : {place::Sharding{{{}, place::shard(0), place::shard(1)}},
                                          place::Sharding{{{}, place::shard(2), place::shard(0)}},
                                          place::Sharding{{{}, place::shard(1), place::shard(1)}}}) {
    Shape const s(6, 12, 4);
    std::vector<int> of(static_cast<std::size_t>(s.size()), -1);
    for (int way = 0; way < 6; ++way) {
      long next = 0;
      schedule::each_run(s, 1, sharding, mesh, way, [&](long local, long global, long count) {
        CHECK(local == next);
        next += count;
        for (long i = 0; i < count; ++i) {
          CHECK(of[static_cast<std::size_t>(global + i)] == -1);
          of[static_cast<std::size_t>(global + i)] = way;
        }
      });
      CHECK(next == s.size() / 6);
    }
    auto const holder = [&](int a, int b, int c) { return of[static_cast<std::size_t>((a * 12 + b) * 4 + c)]; };
    CHECK(holder(0, 0, 0) == 0);
    CHECK(holder(5, 11, 3) == 5);
    if (sharding.on[1] == place::shard(0)) CHECK(holder(3, 4, 0) == 4);
    if (sharding.on[1] == place::shard(1)) CHECK(holder(0, 2, 3) == 1);
  }
}
TEST_CASE("parts that are unequal: each element once, and rows as far apart as in the largest part") {
  for (place::DeviceMesh const& mesh : {place::DeviceMesh{0, 3}, place::DeviceMesh{0, 2, 2}}) {
    place::Sharding const columns{{{}, place::shard(1), place::shard(1)}};
    std::vector<int> times(3 * 13, 0);
    for (int way = 0; way < mesh.ways(); ++way) {
      schedule::HeldPart const own = schedule::held_part({13}, columns, 1, mesh, way);
      CHECK(own.most == (mesh.axes == 2 ? 5 : 4));
      CHECK(own.size >= own.most - 1);
      schedule::each_run(Shape(3, 13), 1, columns, mesh, way, [&](long local, long global, long count) {
        CHECK(count == own.size);
        CHECK(local % own.most == 0);
        CHECK(global == local / own.most * 13 + own.begin);
        for (long i = 0; i < count; ++i) times[static_cast<std::size_t>(global + i)]++;
      });
    }
    for (int t : times) CHECK(t == 1);
  }
  CHECK(schedule::held_part({20, 4}, {{{}, place::shard(0)}}, 0, {0, 3}, 2).begin == 12);  // units of 4: 1, 2 and 2
}
