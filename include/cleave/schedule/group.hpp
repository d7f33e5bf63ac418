// schedule/group.hpp - the ranks that an exchange is among, and the branches of the ordered sum that they hold.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <bit>

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

/// What rank `index` of the ordered sum that an accumulation round belongs to holds after it, from left to right.
constexpr TreeSum branches(Share const& share, AxisSet over, int index, int accumulation = 0) {
  TreeSum sum{share.micro_batches};
  Range const rounds = share.rounds_of_sum(accumulation);
  for (int round = rounds.begin; round < rounds.end; ++round) {
    Range const own = share.of(over, index, round);
    for (int m = own.begin; m < own.end; ++m) sum.push({m, 1}, [](int, int) {});
  }
  return sum;
}

/// Calls visit(index, which, branch) for the branches of the ranks whose index along the axes `apart` is `tree_of`,
/// from left to right.
template <class Visit>
constexpr void branches_in_order(Share const& share, AxisSet over, AxisSet apart, int tree_of, int accumulation,
                                 Visit visit) {
  Range const all = share.of_sum(accumulation);
  for (int next = all.begin; next < all.end;) {  // with accumulation a rank's need not be neighbours
    int const before = next;
    for (int i = 0; i < share.parts(over); ++i) {
      if (share.ranks.index(share.ranks.member(i, over), apart) != tree_of) continue;
      TreeSum const own = branches(share, over, i, accumulation);
      for (int b = 0; b < own.depth; ++b) {
        if (own.stack[b].begin != next) continue;
        next += own.stack[b].size;
        visit(i, b, own.stack[b]);
      }
    }
    if (next == before) throw Error("the micro-batches of a step are not the ranks' branches");
  }
}

/// Calls visit(index, branch, merges) for the branches of all ranks in the order in which they are added: of the tree,
/// or of the ranks. After each, so many pairs of sums are complete. Ranks that have other positions of the same
/// micro-batches have a tree each, which are added in order.
template <class Visit> constexpr void each_branch(Share const& share, AxisSet over, bool ordered, Visit visit) {
  for (int i = 0; i < share.parts(over) && !ordered; ++i) visit(i, 0, i > 0);
  AxisSet const apart = share.with_same(over);
  for (int tree_of = 0; ordered && tree_of < share.parts(apart); ++tree_of) {
    TreeSum tree{share.micro_batches};
    branches_in_order(share, over, apart, tree_of, 0, [&](int i, int b, Branch branch) {
      int merges = 0;
      tree.push(branch, [&](int, int) { ++merges; });
      visit(i, b, merges + (tree_of > 0 && branch.begin + branch.size >= share.micro_batches));
    });
  }
}

// If the gradients of each round are summed over the ranks, a rank keeps of its part of the sum the branches of the
// tree that are complete, and adds those of the next round to them. At the end there is one. For 8 micro-batches in 4
// rounds:
//
//   after round 0: (0..2)    1: (0..4)    2: (0..4) (4..6)    3: (0..8)
//
/// The branches of one tree that are kept after a round; before the first: none.
constexpr TreeSum kept_after(Share const& share, int accumulation) {
  TreeSum kept{share.micro_batches};
  int const end = accumulation < 0 ? 0 : share.of_sum(accumulation).end;
  for (int begin = 0; begin < end;) {
    int const size = static_cast<int>(std::bit_floor(static_cast<unsigned>(end - begin)));
    kept.push({begin, size}, [](int, int) {});
    begin += size;
  }
  return kept;
}
/// The most of them.
constexpr int most_kept(Share const& share, bool ordered) {
  int most = 1;
  for (int round = 0; round < share.rounds && share.sums_rounds && ordered; ++round) {
    int const depth = kept_after(share, round).depth;
    most = depth > most ? depth : most;
  }
  return most;
}
/// The sums of a rank's part of a bucket that it keeps, over all trees.
constexpr int kept_sums(Share const& share, AxisSet over, bool ordered) {
  return most_kept(share, ordered) * (ordered ? share.parts(share.with_same(over)) : 1);
}

/// What a rank adds to the kept sums of its part in a round: calls sum(which) for one that it writes, then of its
/// summands, in order, kept(which, merges) for one that it has kept, and branch(index, which, merges) for a rank's.
template <class Sum, class Kept, class OfRank>
constexpr void each_kept(Share const& share, AxisSet over, bool ordered, int accumulation, Sum sum, Kept kept,
                         OfRank branch) {
  if (!ordered) {
    sum(0);
    if (accumulation > 0) kept(0, 0);
    for (int i = 0; i < share.parts(over); ++i) branch(i, 0, int{accumulation > 0 || i > 0});
    return;
  }
  AxisSet const apart = share.with_same(over);
  int const trees = share.parts(apart), each = most_kept(share, ordered);
  bool const last = accumulation + 1 == share.rounds;  // all trees are then one sum
  for (int tree_of = 0; tree_of < trees; ++tree_of) {
    TreeSum const before = kept_after(share, accumulation - 1), after = kept_after(share, accumulation);
    // The first summand of a sum begins where the sum does.
    auto const write = [&](Branch const& first) {
      for (int k = 0; k < after.depth && (!last || tree_of == 0); ++k) {
        if (after.stack[k].begin == first.begin) sum(tree_of * each + k);
      }
    };
    for (int k = 0; k < before.depth; ++k) {
      bool const stays = !last && k < after.depth && after.stack[k] == before.stack[k];
      if (stays) continue;
      write(before.stack[k]);
      kept(tree_of * each + k, 0);
    }
    TreeSum tree = before;
    branches_in_order(share, over, apart, tree_of, accumulation, [&](int i, int b, Branch of) {
      write(of);
      int merges = 0;
      tree.push(of, [&](int, int) { ++merges; });
      branch(i, b, merges + (tree_of > 0 && last && of.begin + of.size >= share.micro_batches));
    });
  }
}

}  // namespace cleave::schedule
