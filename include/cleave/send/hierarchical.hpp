// send/hierarchical.hpp - `ReduceBy<Hierarchical<4>>`: within each node of 4 replicas, then between nodes, and back.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string_view>

#include "halving_doubling.hpp"
#include "ring.hpp"

namespace cleave {

/// Between nodes each rank sends only the part that it summed for its node: 2(m-1)/m of the elements for each of m
/// nodes, however many ranks it has. Rings within a node, between nodes, within the node; if both numbers are powers of
/// two, halving-doubling, which has the same structure. All nodes must be full.
template <int ReplicasPerNode> struct Hierarchical : send::Route {
  static constexpr std::string_view name = "nodes first";
  using law = send::nodes_have_replicas<ReplicasPerNode>;
  static constexpr bool fits(send::Group g) { return g.ranks % inside(g) == 0; }
  static constexpr bool keeps_the_tree(send::Group g) { return halves(g); }
  static constexpr int rounds(long elements, send::Group g) {
    return halves(g) ? HalvingDoubling::rounds(elements, g) : 2 * (inside(g) - 1) + 2 * (nodes(g) - 1);
  }
  static constexpr send::Move move(long elements, int rank, send::Group g, int round) {
    if (halves(g)) return HalvingDoubling::move(elements, rank, g, round);
    int const n = inside(g), here = rank % n, node = rank / n, far = 2 * (nodes(g) - 1);
    auto const at = [](send::Move m, int first, int step, long before) {
      return send::Move{first + m.peer * step, m.begin + before, m.end + before, m.add};
    };
    if (round < n - 1) return at(Ring::scatter(elements, here, n, round), node * n, 1, 0);
    round -= n - 1;
    if (round < far) {
      int const part = Ring::owned(here, n);
      send::Group const others{nodes(g), 1, g.bytes_each};
      return at(Ring::move(op::part_size(elements, part, n), node, others, round), here, n,
                op::part_begin(elements, part, n));
    }
    return at(Ring::gather(elements, here, n, round - far), node * n, 1, 0);
  }
  static constexpr long sent(long elements, int rank, send::Group g) {
    if (halves(g)) return HalvingDoubling::sent(elements, rank, g);
    int const n = inside(g), here = rank % n;
    return Ring::scattered(elements, here, n) + Ring::gathered(elements, here, n) +
           Ring::sent(op::part_size(elements, Ring::owned(here, n), n), rank / n, {nodes(g), 1, g.bytes_each});
  }

 private:
  static constexpr int inside(send::Group g) { return ReplicasPerNode * g.per_replica; }
  static constexpr int nodes(send::Group g) { return g.ranks / inside(g); }
  static constexpr bool halves(send::Group g) {
    return send::is_power_of_two(inside(g)) && send::is_power_of_two(g.ranks);
  }
};

}  // namespace cleave
