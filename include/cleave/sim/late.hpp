// sim/late.hpp - how long a step takes that does not wait for the slowest replicas, which go on being late. Exact.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

namespace cleave::sim {

/// The mean time until `quorum` gradients are there, in means of one gradient's, where times are exponential: `fresh`
/// replicas have theirs to make, `late` ones must first end one that will be dropped. Such times have no memory, so a
/// state is these two numbers, and whoever is next is any of them.
constexpr double until(int quorum, int fresh, int late) {
  if (quorum == 0) return 0;
  double const all = fresh + late;
  double mean = 1 / all;
  if (fresh > 0) mean += fresh / all * until(quorum - 1, fresh - 1, late);
  if (late > 0) mean += late / all * until(quorum, fresh + 1, late - 1);
  return mean;
}
/// Of a step of `replicas` of which `spares` are not waited for, in the long run: those are late at the next step.
/// Without spares this is the mean of the largest of n draws, 1 + 1/2 + ... + 1/n. Replicas that left a late gradient
/// would make it the order statistic 1/(spares + 1) + ... + 1/n: Chen et al., "Revisiting distributed synchronous SGD",
/// 2016, count so.
constexpr double exponential_step(int replicas, int spares) {
  return until(replicas - spares, replicas - spares, spares);
}

}  // namespace cleave::sim
