// sim/late.hpp - the mean step time with spares, if slow replicas finish their late gradients. Exact.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

namespace cleave::sim {

/// The mean step, in means of one gradient's time, of `replicas` replicas of which `spares` are not waited for, in the
/// long run: late replicas are late at the next step too, and finish what will be dropped before they begin it. Times
/// are exponential and memoryless, so a state is how many gradients are needed and how many replicas are late, and any
/// of them is equally likely to be next. Without spares this is the mean of the largest of n draws, 1 + 1/2 + ... +
/// 1/n. If replicas abandoned a late gradient it would be the order statistic 1/(spares + 1) + ... + 1/n, which is what
/// Chen et al., "Revisiting distributed synchronous SGD", 2016, use.
constexpr double exponential_step(int replicas, int spares) {
  constexpr int most = 64;
  if (spares < 0 || spares > most || spares >= replicas) return 0;
  double mean[most + 1]{};  // by the number of late replicas, for the number of gradients needed in this iteration
  for (int wanted = 1; wanted <= replicas - spares; ++wanted) {
    for (int late = 0; late <= spares; ++late) {
      double const fresh = wanted + spares - late, all = fresh + late;
      mean[late] = 1 / all + fresh / all * mean[late] + (late > 0 ? late / all * mean[late - 1] : 0);
    }
  }
  return mean[spares];
}

}  // namespace cleave::sim
