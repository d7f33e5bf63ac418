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
/// What a rank adds to what it keeps, round by round: "1: k0 0.0+" is the kept sum 1, of kept sum 0 and rank 0's
/// branch.
std::string kept(Share share, AxisSet over, bool ordered) {
  share.sums_rounds = true;
  std::string out;
  for (int round = 0; round < share.rounds; ++round) {
    auto const plus = [](int merges) { return std::string(static_cast<std::size_t>(merges), '+'); };
    each_kept(
        share, over, ordered, round, [&](int which) { out += " " + std::to_string(which) + ":"; },
        [&](int which, int merges) { out += " k" + std::to_string(which) + plus(merges); },
        [&](int i, int branch, int merges) {
          out += " " + std::to_string(i) + "." + std::to_string(branch) + plus(merges);
        });
    out += ";";
  }
  return out;
}
}  // namespace

TEST_CASE("of each round's sum a rank keeps the branches that are complete, and one at the end") {
  CHECK(kept({8, {2, 1}, 4}, over_data, true) == " 0: 0.0 1.0+; 0: k0 0.0 1.0++; 1: 0.0 1.0+; 0: k0 k1 0.0 1.0+++;");
  CHECK(kept({8, {2, 1}, 4}, over_data, false) == " 0: 0.0 1.0+; 0: k0 0.0+ 1.0+; 0: k0 0.0+ 1.0+; 0: k0 0.0+ 1.0+;");
  // Rounds of 3: (0 1) and 2, then (2 3) and so (0..4), and (4 5).
  CHECK(kept({6, {3, 1}, 2}, over_data, true) == " 0: 0.0 1.0+ 1: 2.0; 0: k0 k1 0.0++ 1.0 2.0++;");
  CHECK(kept_sums({8, {2, 1}, 4}, over_data, true) == 1);
  Share rounds{8, {2, 1}, 4};
  rounds.sums_rounds = true;
  CHECK(kept_sums(rounds, over_data, true) == 2);
  CHECK(kept_sums(rounds, over_data, false) == 1);
  // Ranks that have other positions of the same micro-batches: a tree each up to the last round.
  Share positions{4, {2, 2}, 2};
  positions.positions = {1};
  CHECK(kept(positions, AxisSet{0, 1}, true) == " 0: 0.0 2.0+ 1: 1.0 3.0+; 0: k0 0.0 2.0++ k1 1.0 3.0+++;");
}

TEST_CASE("of 3 replicas with 2 ways, rank 3 sums with 1 and 5, with all, or with its other way 2") {
  Ranks const ranks{3, 2};
  RankGroup const data = group_over(over_data, ranks, 3), all = group_over(AxisSet{0, 1}, ranks, 3),
                  ways = group_over(AxisSet{1}, ranks, 3);
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
  CHECK(order({8, {2, 2}, 2}, AxisSet{0, 1}, true) == "0.0 1.0+ 0.1 1.1++ 2.0 3.0+ 2.1 3.1+++ ");
}

TEST_CASE(
    "of 3 x 2 x 4 ranks, any axes: peers have the same coordinates along the others, in the order of the outermost") {
  Ranks const ranks{3, 2, 4};
  CHECK(ranks.world() == 24);
  CHECK(ranks.ways() == 8);
  for (unsigned bits = 0; bits < 8; ++bits) {
    AxisSet over;
    over.bits = bits;
    for (int rank = 0; rank < ranks.world(); ++rank) {
      RankGroup const group = group_over(over, ranks, rank);
      CHECK(group.rank(group.mine) == rank);
      for (int i = 0; i < group.size; ++i) {
        CHECK(ranks.index(group.rank(i), over) == i);
        if (i > 0) CHECK(group.rank(i) > group.rank(i - 1));
        for (int axis = 0; axis < 3; ++axis) {
          if (!over.has(axis)) CHECK(ranks.coordinate(group.rank(i), axis) == ranks.coordinate(rank, axis));
        }
      }
    }
  }
  RankGroup const apart = group_over({0, 2}, ranks, 13);  // 1, 1, 1
  CHECK(apart.size == 12);
  CHECK(apart.mine == 5);
  CHECK(apart.rank(0) == 4);
  CHECK(apart.rank(11) == 23);
}
