// send/tree.hpp - `ReduceBy<Tree>`: a binomial tree, up to rank 0 and back down.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string_view>

#include "route.hpp"

namespace cleave {

/// 2 ceil(log2 n) rounds of whole messages; a rank sends one up, and one down to each child. Few rounds, many elements.
/// Sums in the tree of the ordered sum.
struct Tree : send::Route {
  static constexpr std::string_view name = "tree";
  static constexpr bool keeps_the_tree(send::Group) { return true; }
  static constexpr int rounds(long, send::Group g) { return 2 * send::log2_up(g.ranks); }
  static constexpr send::Move move(long elements, int rank, send::Group g, int round) {
    int const up = send::log2_up(g.ranks), apart = 1 << (round < up ? round : 2 * up - 1 - round);
    if (round < up) {
      if (rank % (2 * apart) == 0 && rank + apart < g.ranks) return {rank + apart, 0, elements, true};
    } else if (rank % (2 * apart) == apart) {
      return {rank - apart, 0, elements, false};
    }
    return {};
  }
  static constexpr long sent(long elements, int rank, send::Group g) {
    long times = rank > 0;
    for (int apart = 1; apart < g.ranks && rank % (2 * apart) == 0; apart *= 2) times += rank + apart < g.ranks;
    return times * elements;
  }
};

}  // namespace cleave
