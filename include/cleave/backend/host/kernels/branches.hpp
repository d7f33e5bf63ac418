// backend/host/kernels/branches.hpp - where the branches of a sum lie, and in which order several slices join them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

#include "../../../op/operands.hpp"

namespace cleave::backend::host {

/// Where the branches of one tensor's sum lie: the first few `apart` elements from each other, the others elsewhere.
template <class A> struct Stack {
  A* first = nullptr;
  A* other = nullptr;
  long apart = 0, other_apart = 0;
  int few = 1;
  CLEAVE_HD A* at(int p) const { return p < few ? first + p * apart : other + (p - few) * other_apart; }
};

/// The tree of schedule/slices.hpp as it is met from left to right: a slice's sum goes on top of `depth` branches, then
/// the two on top become one, as many times as `merges` says: a one for each, a zero behind the slice, from bit 0 on.
template <class A> struct Branches {
  Stack<A> dw0, dw1;
  Stack<tensor::batch_sum_t<A>> stats;
  int depth = 0;
  bool rounded = false;  // gradients of weights, to the format of the data
  int turns = 0;         // slices and merges
  std::uint64_t merges = 0;

  /// One more slice, and how often is merged behind it; false where one call does not take more.
  bool push(int merges_behind) {
    if (turns + merges_behind + 1 > 63) return false;
    merges |= ((std::uint64_t{1} << merges_behind) - 1) << turns;
    turns += merges_behind + 1;
    return true;
  }
};

}  // namespace cleave::backend::host
