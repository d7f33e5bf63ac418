// op/verb.hpp - the collectives. Each has an adjoint: what happens to its gradient in the backward pass.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string_view>

#include "../tensor/partition.hpp"

namespace cleave::op {

enum class Verb : unsigned char {
  None,
  Slice,
  AllGather,
  ReduceScatter,
  AllReduce,
  AllToAll,
  Push,
  Send,
  Halo,
  Illegal
};

constexpr std::string_view name(Verb v) {
  constexpr std::string_view names[] = {"none",       "slice", "all_gather", "reduce_scatter", "all_reduce",
                                        "all_to_all", "push",  "send",       "halo",           "illegal"};
  return names[static_cast<int>(v)];
}

/// The part of E elements that rank r of n owns.
CLEAVE_HD constexpr long part_begin(long elements, int r, int n) { return Partition{elements}.begin(r, n); }
constexpr long part_size(long elements, int r, int n) { return Partition{elements}.size(r, n); }

/// Elements that rank r of n sends when E elements (whole) go through the collective and its part of them is `part`.
/// All-reduce is a reduce-scatter and an all-gather: 2(n-1)/n E when n divides E. `summands` is the number of partial
/// sums of a rank (one, unless an ordered sum keeps several branches of its tree apart). A push sends everything to a
/// parameter server, a send to the next stage of a pipeline.
constexpr long sent(Verb v, long elements, long part, int n, int summands = 1) {
  switch (v) {
    case Verb::AllGather:
      return (n - 1) * part;
    case Verb::ReduceScatter:
      return summands * (elements - part);
    case Verb::AllReduce:
      return n == 1 ? 0 : summands * (elements - part) + (n - 1) * part;
    case Verb::AllToAll:
      return part - part / n;
    case Verb::Push:
    case Verb::Send:
      return elements;
    default:
      return 0;
  }
}

}  // namespace cleave::op
