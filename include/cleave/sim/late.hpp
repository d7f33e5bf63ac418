// sim/late.hpp - how long a step takes that does not wait for the slowest replicas, which go on being late. Exact.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

namespace cleave::sim {

/// The mean step, in means of one gradient's time, of `replicas` of which `spares` are not waited for, in the long run:
/// those are late at the next step, and end what will be dropped before they begin it. Times are exponential and have
/// no memory, so a state is how many gradients are wanted and how many replicas are late, and whoever is next is any of
/// them. Without spares this is the mean of the largest of n draws, 1 + 1/2 + ... + 1/n. Replicas that left a late
/// gradient would make it the order statistic 1/(spares + 1) + ... + 1/n: Chen et al., "Revisiting distributed
/// synchronous SGD", 2016, count so.
constexpr double exponential_step(int replicas, int spares) {
  constexpr int most = 64;
  if (spares < 0 || spares > most || spares >= replicas) return 0;
  double mean[most + 1]{};  // by those that are late, of as many wanted as the loop has come to
  for (int wanted = 1; wanted <= replicas - spares; ++wanted) {
    for (int late = 0; late <= spares; ++late) {
      double const fresh = wanted + spares - late, all = fresh + late;
      mean[late] = 1 / all + fresh / all * mean[late] + (late > 0 ? late / all * mean[late - 1] : 0);
    }
  }
  return mean[spares];
}

}  // namespace cleave::sim
