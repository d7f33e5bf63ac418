// schedule/group.hpp - the ranks that an exchange is among, and the branches of the ordered sum that they hold.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "slices.hpp"

namespace cleave::schedule {

/// `size` ranks, of which this one is number `mine`.
class RankGroup {
 public:
  constexpr RankGroup() = default;
  /// The ranks that differ from this one along these axes only.
  constexpr RankGroup(AxisSet axes, Ranks const& ranks, int rank)
      : over(axes), size(ranks.group_size(axes)), mine(ranks.index(rank, axes)) {
    first_ = rank - ranks.member(mine, axes);
    int apart = 1;
    for (int a = ranks.axes - 1; a >= 0; apart *= ranks.size[a--]) {
      if (!axes.has(a) || ranks.size[a] == 1) continue;
      if (digits_ > 0 && digit_[digits_ - 1].apart * digit_[digits_ - 1].count == apart) {
        digit_[digits_ - 1].count *= ranks.size[a];
      } else {
        digit_[digits_++] = {ranks.size[a], apart};
      }
    }
  }
  constexpr int rank(int i) const {
    if (digits_ < 2) return first_ + i * digit_[0].apart;
    int out = first_;
    for (int r = 0; r < digits_; i /= digit_[r++].count) out += i % digit_[r].count * digit_[r].apart;
    return out;
  }

  AxisSet over;
  int size = 1, mine = 0;

 private:
  struct Digit {
    int count = 1, apart = 1;  // ranks, and from one to the next
  };
  int first_ = 0, digits_ = 0;
  Digit digit_[place::most_axes];  // of an index, the innermost first; axes that are neighbours share one
};
constexpr RankGroup group_over(AxisSet over, Ranks const& ranks, int rank) { return {over, ranks, rank}; }

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
/// or of the ranks. After each, so many pairs of sums are complete. Ranks that have other positions of the same
/// micro-batches have a tree each, which are added in order.
template <class Visit> constexpr void each_branch(Share const& share, AxisSet over, bool ordered, Visit visit) {
  int const ranks = share.parts(over);
  for (int i = 0; i < ranks && !ordered; ++i) visit(i, 0, i > 0);
  AxisSet const apart = share.with_same(over);
  for (int tree_of = 0; ordered && tree_of < share.parts(apart); ++tree_of) {
    TreeSum tree{share.micro_batches};
    for (int next = 0; next < share.micro_batches;) {  // with accumulation a rank's need not be neighbours
      int const before = next;
      for (int i = 0; i < ranks; ++i) {
        if (share.ranks.index(share.ranks.member(i, over), apart) != tree_of) continue;
        TreeSum const own = branches(share, over, i);
        for (int b = 0; b < own.depth; ++b) {
          if (own.stack[b].begin != next) continue;
          int merges = 0;
          tree.push(own.stack[b], [&](int, int) { ++merges; });
          next += own.stack[b].size;
          visit(i, b, merges + (tree_of > 0 && next >= share.micro_batches));
        }
      }
      if (next == before) throw Error("the micro-batches of a step are not the ranks' branches");
    }
  }
}

}  // namespace cleave::schedule
