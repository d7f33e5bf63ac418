// schedule/slices.hpp - who holds which micro-batches, and the one tree in which everything over the batch is summed.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

namespace cleave::schedule {

/// The micro-batches [begin, end) of part p of n: contiguous, complete, disjoint, sizes differ by at most one.
struct Range {
  int begin, end;
  constexpr int size() const { return end - begin; }
  friend constexpr bool operator==(Range, Range) = default;
};
constexpr Range slices(int micro_batches, int part, int parts) {
  return {part * micro_batches / parts, (part + 1) * micro_batches / parts};
}
constexpr int most_slices(int micro_batches, int parts) { return (micro_batches + parts - 1) / parts; }

// The tree over micro-batches, for 6 of them on 4 ranks:
//
//             (0..6)
//        (0..4)    (4..6)          A rank sums what it can below it: rank 1 holds 1 and 2, which are no siblings,
//     (0 1) (2 3)  (4 5)           so it keeps two branches. The sum over ranks then goes on in the same tree,
//      0 1   2 3    4 5            and its bits do not depend on how many ranks there are.
//     r0 r1 r1 r2  r2 r3
//
/// A branch: the micro-batches [begin, begin + size), size a power of two, cut off at the last one.
struct Branch {
  int begin, size;
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
        top.size *= 2;  // its sibling would hold nothing
      } else {
        return;
      }
    }
  }
};
inline constexpr int most_branches = 40;
using TreeSum = Tree<most_branches>;

/// How many branches a rank is left with, and how many it holds at once on the way.
struct Held {
  int branches, deepest;
};
constexpr Held held(int micro_batches, Range r, bool ordered) {
  if (!ordered) return {1, r.size() > 1 ? 2 : 1};
  TreeSum sum{micro_batches};
  for (int s = r.begin; s < r.end; ++s) sum.push({s, 1}, [](int, int) {});
  return {sum.depth, sum.deepest};
}
constexpr Held most_held(int micro_batches, int parts, bool ordered) {
  Held most{1, 1};
  for (int p = 0; p < parts; ++p) {
    Held const h = held(micro_batches, slices(micro_batches, p, parts), ordered);
    if (h.branches > most.branches) most.branches = h.branches;
    if (h.deepest > most.deepest) most.deepest = h.deepest;
  }
  return most;
}

}  // namespace cleave::schedule
