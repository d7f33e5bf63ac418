// schedule/slices.hpp - which rank holds which micro-batches, and the one tree in which everything over the batch is summed.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string>

#include "../meta/error.hpp"
#include "../place/device_mesh.hpp"
#include "../place/portions.hpp"
#include "../tensor/partition.hpp"

namespace cleave::schedule {

/// The micro-batches [begin, end) of a part.
struct Range {
  int begin, end;
  constexpr int size() const { return end - begin; }
  friend constexpr bool operator==(Range, Range) = default;
};
constexpr Range slices(int micro_batches, int part, int parts) {
  Partition const p{micro_batches};
  return {static_cast<int>(p.begin(part, parts)), static_cast<int>(p.begin(part + 1, parts))};
}
constexpr int most_slices(int micro_batches, int parts) {
  return static_cast<int>(Partition{micro_batches}.most(parts));
}

using place::AxisSet, place::over_data;
inline constexpr int most_groups = 1 << place::most_axes;  // that a rank is in
/// The mesh of a run, whose number of replicas is known.
using Ranks = place::DeviceMesh;

/// Which rank runs which micro-batches, in which round. Replicas share the batch, and each takes its micro-batches in
/// rounds; or, if gradients are summed in each round, replicas share the micro-batches of a round. If further axes cut
/// the batch too, the ways share each round. Hence all ways of a replica see the same samples in a round, and a rank
/// visits its micro-batches from left to right.
struct Share {
  int micro_batches = 1;
  Ranks ranks = {};
  int rounds = 1;
  int samples = 1;  // that a gradient is the mean over
  int first = 0;    // offset among the micro-batches drawn for a step, for replicas that do not agree by sums
  place::Portions portions = {};
  AxisSet positions = {};    // these cut positions: along them ranks have the same micro-batches
  bool sums_rounds = false;  // over the replicas

  constexpr Range replica(int r) const {
    if (portions.groups == 0) return slices(micro_batches, r, ranks.replicas());
    int const begin = portions.before(r, ranks.replicas());
    return {begin, begin + portions.of(r, ranks.replicas())};
  }
  constexpr int most_of_a_replica() const {
    if (sums_rounds) return rounds * most_of_a_round();
    return portions.groups > 0 ? portions.largest() : most_slices(micro_batches, ranks.replicas());
  }
  constexpr Range own(int r, int round) const {
    if (sums_rounds) return within(of_sum(round), r, ranks.replicas());
    return within(replica(r), round, rounds);
  }
  /// How many micro-batches a replica has taken before this one, of a round.
  constexpr int before(int r, int round, int micro_batch) const {
    int taken = 0;
    for (int k = 0; k < round; ++k) taken += own(r, k).size();
    return taken + micro_batch - own(r, round).begin;
  }
  /// The rounds whose gradients are one sum over the ranks: this one, or all.
  constexpr Range rounds_of_sum(int round) const { return sums_rounds ? Range{round, round + 1} : Range{0, rounds}; }
  /// And the micro-batches of these.
  constexpr Range of_sum(int round) const {
    return sums_rounds ? slices(micro_batches, round, rounds) : Range{0, micro_batches};
  }
  /// The micro-batches of a rank, where these axes cut the batch: the outermost first, and each of its parts the next.
  constexpr Range part(AxisSet cut, int rank, int round) const {
    Range r = own(ranks.coordinate(rank, place::data_axis), round);
    for (int a = place::data_axis + 1; a < ranks.axes && a < place::most_axes; ++a) {
      if (cut.has(a)) r = within(r, ranks.coordinate(rank, a), ranks.size[a]);
    }
    return r;
  }
  /// Of a group over the data axis and perhaps others: the micro-batches of the rank of this index in it.
  constexpr Range of(AxisSet over, int index, int round) const {
    return part(over - positions, ranks.member(index, over), round);
  }
  /// The axes among these along which ranks have the same micro-batches.
  constexpr AxisSet with_same(AxisSet over) const { return over - (over - positions); }
  /// Whether this is the one rank of a replica that tells results on its micro-batches, where these axes cut the batch.
  constexpr bool tells(AxisSet cut, int rank) const { return ranks.index(rank, ranks.of_replica() - cut) == 0; }
  constexpr int parts(AxisSet over) const { return ranks.group_size(over); }
  constexpr int most(AxisSet over) const {
    int own = most_of_a_round();
    for (int a = place::data_axis + 1; a < ranks.axes; ++a) own = most_slices(own, over.has(a) ? ranks.size[a] : 1);
    return own;
  }

 private:
  constexpr int most_of_a_round() const {
    if (sums_rounds) return most_slices(most_slices(micro_batches, rounds), ranks.replicas());
    return most_slices(most_of_a_replica(), rounds);
  }
  static constexpr Range within(Range r, int part, int parts) {
    Range const inner = slices(r.size(), part, parts);
    return {r.begin + inner.begin, r.begin + inner.end};
  }
};

// The tree over micro-batches, for 6 of them on 4 ranks:
//
//             (0..6)
//        (0..4)    (4..6)          A rank sums what it can below it: rank 1 holds 1 and 2, which are no siblings,
//     (0 1) (2 3)  (4 5)           so it keeps two branches. The sum over ranks then goes on in the same tree,
//      0 1   2 3    4 5            and its bits do not depend on how many ranks there are.
//     r0 r1 r1 r2  r2 r3
//
/// A branch: the micro-batches [begin, begin + size), size a power of two, truncated at the last one.
struct Branch {
  int begin, size;
  friend constexpr bool operator==(Branch, Branch) = default;
};

/// Sums leaves that arrive from left to right: push each, and `add(to, from)` is called for every pair of siblings.
template <int Capacity> struct Tree {
  int leaves;
  Branch stack[Capacity]{};
  int depth = 0, deepest = 0;

  template <class Add> constexpr void push(Branch b, Add add) {
    stack[depth++] = b;
    if (depth > deepest) deepest = depth;
    for (;;) {
      Branch& top = stack[depth - 1];
      bool const right = top.begin / top.size % 2 == 1;
      if (right && depth > 1 && stack[depth - 2].begin == top.begin - top.size && stack[depth - 2].size == top.size) {
        add(depth - 2, depth - 1);
        --depth;
        stack[depth - 1].size *= 2;
      } else if (!right && top.begin + top.size >= leaves && top.size < leaves) {
        top.size *= 2;  // its sibling would be empty
      } else {
        return;
      }
    }
  }
};
inline constexpr int most_branches = 40;
using TreeSum = Tree<most_branches>;

/// visit(leaf, merges) from left to right: behind a leaf `merges` pairs of sums are complete. The most sums at once.
template <class Visit> constexpr int each_leaf(int leaves, Visit visit) {
  TreeSum tree{leaves};
  for (int leaf = 0; leaf < leaves; ++leaf) {
    int merges = 0;
    tree.push({leaf, 1}, [&](int, int) { ++merges; });
    visit(leaf, merges);
  }
  return tree.deepest;
}

/// The number of branches that a rank ends with, holds at most at once, and holds between rounds: of the sum that an
/// accumulation round belongs to.
struct Held {
  int branches, deepest, kept;
};
constexpr Held held(Share share, AxisSet over, int index, bool ordered, int accumulation = 0) {
  Held h{1, 1, 1};
  TreeSum sum{share.micro_batches};
  int summed = 0;
  Range const rounds = share.rounds_of_sum(accumulation);
  for (int round = rounds.begin; round < rounds.end; ++round) {
    Range const r = share.of(over, index, round);
    summed += r.size();
    if (!ordered) continue;
    for (int s = r.begin; s < r.end; ++s) {
      if (sum.depth == most_branches) {
        throw Error({"Accumulate<", share.rounds, ">: a rank would keep more than ", most_branches,
                     " branches of the ordered sum; say fewer rounds"});
      }
      sum.push({s, 1}, [](int, int) {});
    }
    if (sum.depth > h.kept) h.kept = sum.depth;
  }
  if (!ordered) return {1, summed > 1 ? 2 : 1, 1};
  return {sum.depth, sum.deepest, h.kept};
}
constexpr Held most_held(Share share, AxisSet over, bool ordered) {
  Held most{1, 1, 1};
  for (int round = 0; round < (share.sums_rounds ? share.rounds : 1); ++round) {
    for (int p = 0; p < share.parts(over); ++p) {
      Held const h = held(share, over, p, ordered, round);
      if (h.branches > most.branches) most.branches = h.branches;
      if (h.deepest > most.deepest) most.deepest = h.deepest;
      if (h.kept > most.kept) most.kept = h.kept;
    }
  }
  return most;
}

}  // namespace cleave::schedule
