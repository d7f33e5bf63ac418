// send/ring.hpp - `ReduceBy<Ring>`: parts travel from neighbour to neighbour, first to be summed, then to be copied.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string_view>

#include "route.hpp"

namespace cleave {

/// 2(n-1) rounds of 1/n each: 2(n-1)/n of the elements, the minimum. Part c is summed from rank c on, in the order of
/// the ring. Source: Patarasuk, Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations", JPDC
/// 2009.
struct Ring : send::Route {
  static constexpr std::string_view name = "ring";
  static constexpr int rounds(long, send::Group g) { return 2 * (g.ranks - 1); }
  static constexpr send::Move move(long elements, int rank, send::Group g, int round) {
    bool const first = round < g.ranks - 1;
    return first ? scatter(elements, rank, g.ranks, round) : gather(elements, rank, g.ranks, round - (g.ranks - 1));
  }
  static constexpr long sent(long elements, int rank, send::Group g) {
    return scattered(elements, rank, g.ranks) + gathered(elements, rank, g.ranks);
  }

  // The two halves, of n - 1 rounds each. After the first, rank r has the sum of part r + 1.
  static constexpr int owned(int rank, int n) { return (rank + 1) % n; }
  static constexpr send::Move scatter(long elements, int rank, int n, int round) {
    return part(elements, rank, n, rank - 1 - round, true);
  }
  static constexpr send::Move gather(long elements, int rank, int n, int round) {
    return part(elements, rank, n, rank - round, false);
  }
  static constexpr long scattered(long elements, int rank, int n) {
    return elements - op::part_size(elements, (rank + 1) % n, n);
  }
  static constexpr long gathered(long elements, int rank, int n) {
    return elements - op::part_size(elements, (rank + 2) % n, n);
  }

 private:
  static constexpr send::Move part(long elements, int rank, int n, int which, bool add) {
    int const c = (which % n + n) % n;
    return {(rank + n - 1) % n, op::part_begin(elements, c, n), op::part_begin(elements, c + 1, n), add};
  }
};

}  // namespace cleave
