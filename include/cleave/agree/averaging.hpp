// agree/averaging.hpp - replicas update local weights, and combine them at intervals.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "agreement.hpp"
#include "free.hpp"
#include "quorum.hpp"

namespace cleave {

/// Every replica makes `Steps` steps on its share of the batch; then all weights are replaced by their mean (each
/// replica keeps its optimizer state). The interval before an evaluation or a checkpoint may have fewer steps.
/// `LocalSGD<1>` with plain SGD is gradient averaging. Source: Stich, "Local SGD converges fast and communicates
/// little", ICLR 2019.
template <int Steps> struct LocalSGD : agree::Agreement {
  static constexpr bool served = true, waits = true;
  static constexpr agree::Change change = agree::Change::Average;
  static constexpr agree::Pace pace{Steps, Steps};
  template <int Most, class, int> using keeper = agree::Quorum<Most>;
};

/// As LocalSGD<Steps>, but the server steps towards the mean with Nesterov momentum: fewer exchanges for the same loss,
/// so that slow links are enough. The interval is long (the paper takes 500 steps of AdamW); rate and momentum are in
/// percent. Source: Douillard et al., "DiLoCo: distributed low-communication training of language models", 2023; with
/// `DiLoCo<n, 100, 0>` it is LocalSGD<n>.
template <int Steps, int Rate = 70, int Momentum = 90> struct DiLoCo : LocalSGD<Steps> {
  static constexpr agree::OuterStep outer{Rate, Momentum};
};

/// Every replica updates local weights x; every `Steps` steps x and the centre c move towards each other by `Percent` %
/// of x - c, and the next step of x uses the gradient at x before that move. The centre is the model. Source: Zhang,
/// Choromanska, LeCun, "Deep learning with elastic averaging SGD", NIPS 2015, algorithm 1, which takes 90 % divided by
/// the number of replicas.
template <int Steps, int Percent> struct ElasticAveraging : agree::Agreement {
  static constexpr bool served = true;
  static constexpr agree::Change change = agree::Change::Elastic;
  static constexpr agree::Pace pace{Steps, Steps};
  static constexpr int percent = Percent;
  template <int Most, class Stale, int WarmUp> using keeper = agree::Free<Most, Stale, WarmUp>;
};

}  // namespace cleave
