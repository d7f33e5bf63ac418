// sim/saturation.hpp - a model of replicas that share a parameter server: the speedup of one more replica.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

namespace cleave::sim {

/// Each replica computes for `compute`, then its gradient and the weights are served for `service`, one after the
/// other; both in the same unit, both exponentially distributed. Source: the exact mean value analysis of a closed
/// network, Reiser, Lavenberg, "Mean-value analysis of closed multichain queuing networks", JACM 1980.
struct Saturation {
  double compute = 1, service = 0;

  /// Gradients per unit of time by n replicas.
  constexpr double throughput(int n) const {
    double waiting = 0, rate = 0;  // replicas at the servers, as an arriving one finds them
    for (int k = 1; k <= n; ++k) {
      double const there = service * (1 + waiting);
      rate = k / (compute + there);
      waiting = rate * there;
    }
    return rate;
  }
  /// Relative to one replica without a server.
  constexpr double speedup(int n) const { return throughput(n) * compute; }
  constexpr double efficiency(int n) const { return speedup(n) / n; }
  /// The number of replicas from which on a replica waits for others: compute and service rates are equal.
  constexpr double knee() const { return (compute + service) / service; }
};

/// For gradients that take `compute_ns`: `bytes` are sent to and from the servers for each, over links of
/// `bandwidth_mbs` MB/s.
constexpr Saturation saturation(double compute_ns, double bytes, int servers, double bandwidth_mbs) {
  return {compute_ns, bytes * 1e3 / bandwidth_mbs / servers};
}

}  // namespace cleave::sim
