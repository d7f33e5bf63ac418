// schedule/group.cpp - who sums with whom, and in which order the branches of all ranks are added.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <string>

#include <doctest/doctest.h>
#include <cleave/schedule/group.hpp>

using namespace cleave::schedule;

namespace {
std::string order(Share const& share, AxisSet over, bool ordered) {
  std::string out;
  each_branch(share, over, ordered, [&](int i, int branch, int merges) {
    out += std::to_string(i) + "." + std::to_string(branch) + std::string(static_cast<std::size_t>(merges), '+') + " ";
  });
  return out;
}
}  // namespace

TEST_CASE("of 3 replicas with 2 ways, rank 3 sums with 1 and 5, with all, or with its other way 2") {
  Ranks const ranks{3, 2};
  RankGroup const data = group_over(over_data, ranks, 3), all = group_over(over_all, ranks, 3),
                  ways = group_over(over_model, ranks, 3);
  CHECK(data.size == 3);
  CHECK(data.mine == 1);
  CHECK(data.rank(0) == 1);
  CHECK(data.rank(2) == 5);
  CHECK(all.size == 6);
  CHECK(all.rank(all.mine) == 3);
  CHECK(ways.size == 2);
  CHECK(ways.rank(0) == 2);
  CHECK(ways.rank(ways.mine) == 3);
}

TEST_CASE("branches are added in the tree, also where rounds leave a rank some that are no neighbours") {
  CHECK(order({6, {4, 1}}, over_data, true) == "0.0 1.0+ 1.1 2.0++ 3.0+ ");
  CHECK(order({6, {4, 1}}, over_data, false) == "0.0 1.0+ 2.0+ 3.0+ ");
  CHECK(order({8, {2, 2}, 2}, over_all, true) == "0.0 1.0+ 0.1 1.1++ 2.0 3.0+ 2.1 3.1+++ ");
}
