// send/halving_doubling.hpp - `ReduceBy<HalvingDoubling>`: recursive halving, then recursive doubling.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string_view>

#include "route.hpp"

namespace cleave {

/// 2 log2 n rounds and 2(n-1)/n of the elements, for n a power of two; otherwise the excess ranks first send everything
/// to a neighbour, and receive everything from it at the end. Partners are 1, 2, 4, ... apart, so that for a power of
/// two siblings are added in the tree of the ordered sum, and distant messages are small. Source: Rabenseifner,
/// "Optimization of collective reduction operations", ICCS 2004; Thakur, Rabenseifner, Gropp, "Optimization of
/// collective communication operations in MPICH", IJHPCA 2005, section 4.5.
struct HalvingDoubling : send::Route {
  static constexpr std::string_view name = "halving and doubling";
  static constexpr bool keeps_the_tree(send::Group g) { return send::is_power_of_two(g.ranks); }
  static constexpr int rounds(long, send::Group g) {
    Core const c(g.ranks);
    return 2 * c.levels + (c.extra > 0 ? 2 : 0);
  }
  static constexpr send::Move move(long elements, int rank, send::Group g, int round) {
    Core const c(g.ranks);
    bool const paired = rank < 2 * c.extra;
    if (c.extra > 0) {
      if (round == 0) return paired && rank % 2 == 0 ? send::Move{rank + 1, 0, elements, true} : send::Move{};
      if (round == 2 * c.levels + 1)
        return paired && rank % 2 == 1 ? send::Move{rank - 1, 0, elements, false} : send::Move{};
      if (paired && rank % 2 == 1) return {};
      --round;
    }
    bool const halves = round < c.levels;
    int const mine = c.number(rank), level = halves ? round : 2 * c.levels - 1 - round, partner = mine ^ (1 << level);
    // While halving, it adds to the part that it keeps; while doubling, it copies the part that its partner kept.
    Run const r = kept(elements, halves ? mine : partner, level + 1);
    return {c.rank(partner), r.begin, r.end, halves};
  }
  static constexpr long sent(long elements, int rank, send::Group g) {
    Core const c(g.ranks);
    if (rank < 2 * c.extra && rank % 2 == 1) return elements;
    long sum = rank < 2 * c.extra ? elements : 0;
    for (int level = 0; level < c.levels; ++level) {
      int const mine = c.number(rank);
      Run const partner = kept(elements, mine ^ (1 << level), level + 1), own = kept(elements, mine, level + 1);
      sum += partner.end - partner.begin + own.end - own.begin;
    }
    return sum;
  }

 private:
  /// The largest power of two among the ranks: every other one of the first 2 extra, then all.
  struct Core {
    int levels = 0, extra = 0;
    constexpr explicit Core(int ranks) {
      while (2 << levels <= ranks) ++levels;
      extra = ranks - (1 << levels);
    }
    constexpr int number(int rank) const { return rank < 2 * extra ? rank / 2 : rank - extra; }
    constexpr int rank(int n) const { return n < extra ? 2 * n : n + extra; }
  };
  struct Run {
    long begin, end;
  };
  static constexpr Run kept(long elements, int number, int levels) {
    Run r{0, elements};
    for (int l = 0; l < levels; ++l) {
      long const middle = r.begin + (r.end - r.begin) / 2;
      (number >> l & 1 ? r.begin : r.end) = middle;
    }
    return r;
  }
};

}  // namespace cleave
