// send/cost.hpp - a cost model of messages and all-reduce algorithms: latency and bytes.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "route.hpp"

namespace cleave {

/// A message of n bytes takes Latency + n / Bandwidth; ranks send and receive at the same time, all alike. Bytes are
/// added at the rate `Adding`. In nanoseconds and megabytes a second.
template <long LatencyNs, long BandwidthMBs, long AddingMBs = 10'000> struct Link {
  static constexpr long latency_ns = LatencyNs, bandwidth_mbs = BandwidthMBs, adding_mbs = AddingMBs;
};
/// The default link of Auto: ten gigabit Ethernet over TCP.
using Ethernet10G = Link<30'000, 1'250>;

}  // namespace cleave

namespace cleave::send {

/// Modelled nanoseconds for n bytes over p ranks. Source: Thakur, Rabenseifner, Gropp, "Optimization of collective
/// communication operations in MPICH", IJHPCA 2005, section 4.5, with its alpha, beta and gamma; the tree is a binomial
/// reduction and broadcast, section 4.4 and 4.2.
template <class L> struct Cost {
  static constexpr double alpha = static_cast<double>(L::latency_ns),
                          beta = 1e3 / static_cast<double>(L::bandwidth_mbs),
                          gamma = 1e3 / static_cast<double>(L::adding_mbs);
  static constexpr double ring(double n, int p) {
    double const parts = (p - 1.0) / p;
    return 2 * (p - 1) * alpha + 2 * parts * n * beta + parts * n * gamma;
  }
  static constexpr double halving_doubling(double n, int p) {
    int levels = 0;
    while (2 << levels <= p) ++levels;
    double const core = 1 << levels, parts = (core - 1) / core;
    double const folds = is_power_of_two(p) ? 0 : 2 * (alpha + n * beta) + n * gamma;
    return folds + 2 * levels * alpha + 2 * parts * n * beta + parts * n * gamma;
  }
  static constexpr double tree(double n, int p) { return log2_up(p) * (2 * alpha + 2 * n * beta + n * gamma); }
};

}  // namespace cleave::send
