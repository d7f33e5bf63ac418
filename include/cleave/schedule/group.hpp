// schedule/group.hpp - the ranks that an exchange is among, and the branches of the ordered sum that they hold.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "slices.hpp"

namespace cleave::schedule {

/// `size` ranks, `apart` from each other; this one is number `mine` of them.
struct RankGroup {
  int first = 0, apart = 1, size = 1, mine = 0;
  constexpr int rank(int i) const { return first + i * apart; }
};
/// The ranks that differ from this one along these axes only.
constexpr RankGroup group_over(AxisSet over, Ranks ranks, int rank) {
  int const apart = over.has(place::model_axis) ? 1 : ranks.model, mine = ranks.index(rank, over);
  return {rank - mine * apart, apart, ranks.size(over), mine};
}

/// What rank `index` of the ordered sum holds after all its rounds, from left to right.
constexpr TreeSum branches(Share const& share, AxisSet over, int index) {
  TreeSum sum{share.micro_batches};
  for (int round = 0; round < share.rounds; ++round) {
    Range const own = share.of(over, index, round);
    for (int m = own.begin; m < own.end; ++m) sum.push({m, 1}, [](int, int) {});
  }
  return sum;
}

/// Calls visit(index, branch, merges) for the branches of all ranks in the order in which they are added: of the tree,
/// or of the ranks. After each, so many pairs of sums are complete.
template <class Visit> constexpr void each_branch(Share const& share, AxisSet over, bool ordered, Visit visit) {
  int const ranks = share.parts(over);
  for (int i = 0; i < ranks && !ordered; ++i) visit(i, 0, i > 0);
  TreeSum tree{share.micro_batches};
  for (int next = 0; ordered && next < share.micro_batches;) {  // with accumulation a rank's need not be neighbours
    int const before = next;
    for (int i = 0; i < ranks; ++i) {
      TreeSum const own = branches(share, over, i);
      for (int b = 0; b < own.depth; ++b) {
        if (own.stack[b].begin != next) continue;
        int merges = 0;
        tree.push(own.stack[b], [&](int, int) { ++merges; });
        visit(i, b, merges);
        next += own.stack[b].size;
      }
    }
    if (next == before) throw Error("the micro-batches of a step are not the ranks' branches");
  }
}

}  // namespace cleave::schedule
