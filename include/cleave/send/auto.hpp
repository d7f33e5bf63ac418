// send/auto.hpp - `ReduceBy<Auto>`: chooses for each message the fastest all-reduce algorithm by the cost model.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string_view>

#include "cost.hpp"
#include "halving_doubling.hpp"
#include "ring.hpp"
#include "tree.hpp"

namespace cleave {

/// `AutoOver<Link<latency ns, MB/s>>`. Of equals the first of ring, halving-doubling, tree. On equal links the tree is
/// never faster: halving-doubling has as many rounds and fewer bytes.
template <class L> struct AutoOver : send::Route {
  static constexpr std::string_view name = "auto";
  enum class Pick : unsigned char { Ring, HalvingDoubling, Tree };
  static constexpr Pick pick(long elements, send::Group g) {
    double const n = static_cast<double>(elements) * g.bytes_each;
    double const time[] = {send::Cost<L>::ring(n, g.ranks), send::Cost<L>::halving_doubling(n, g.ranks),
                           send::Cost<L>::tree(n, g.ranks)};
    int best = 0;
    for (int k = 1; k < 3; ++k) best = time[k] < time[best] ? k : best;
    return static_cast<Pick>(best);
  }
  static constexpr int rounds(long elements, send::Group g) {
    return by(elements, g, [&](auto route) { return route.rounds(elements, g); });
  }
  static constexpr send::Move move(long elements, int rank, send::Group g, int round) {
    return by(elements, g, [&](auto route) { return route.move(elements, rank, g, round); });
  }
  static constexpr long sent(long elements, int rank, send::Group g) {
    return by(elements, g, [&](auto route) { return route.sent(elements, rank, g); });
  }

 private:
  template <class Visit> static constexpr auto by(long elements, send::Group g, Visit visit) {
    Pick const p = pick(elements, g);
    return p == Pick::Ring ? visit(Ring{}) : p == Pick::HalvingDoubling ? visit(HalvingDoubling{}) : visit(Tree{});
  }
};
struct Auto : AutoOver<Ethernet10G> {};

}  // namespace cleave
