// sim/saturation.hpp - replicas around servers that cannot answer all at once: what one more of them is worth. Modelled.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

namespace cleave::sim {

/// Each replica computes for `compute`, then its gradient and the weights pass through the servers in `service`, one
/// after the other; both in any one unit, both with exponential spread. Source: the exact mean value analysis of a
/// closed network, Reiser, Lavenberg, "Mean-value analysis of closed multichain queuing networks", JACM 1980.
struct Saturation {
  double compute = 1, service = 0;

  /// Gradients per unit of time by n replicas.
  constexpr double throughput(int n) const {
    double waiting = 0, rate = 0;  // replicas at the servers, as one that comes finds them
    for (int k = 1; k <= n; ++k) {
      double const there = service * (1 + waiting);
      rate = k / (compute + there);
      waiting = rate * there;
    }
    return rate;
  }
  /// Against one replica that needs no server.
  constexpr double speedup(int n) const { return throughput(n) * compute; }
  constexpr double efficiency(int n) const { return speedup(n) / n; }
  /// Where what they could compute and what can be served meet: from here on a replica waits for the others.
  constexpr double knee() const { return (compute + service) / service; }
};

/// Of gradients that take `compute_ns`: `bytes` go to the servers and from them for each, over links of so many MB/s.
constexpr Saturation saturation(double compute_ns, double bytes, int servers, double bandwidth_mbs) {
  return {compute_ns, bytes * 1e3 / bandwidth_mbs / servers};
}

}  // namespace cleave::sim
