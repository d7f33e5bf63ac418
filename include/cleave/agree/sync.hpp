// agree/sync.hpp - all replicas wait for each other; with spares, for all but the slowest.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "agreement.hpp"
#include "quorum.hpp"

namespace cleave {

/// All replicas sum their gradients before an update: every replica has the same weights after every step. With
/// `Spares<k>` a server sums those of the first N - k of N replicas, and drops and counts the others'.
struct Sync : agree::Agreement {
  static constexpr bool waits = true;
  template <int Most, class, int> using keeper = agree::Quorum<Most>;
};

}  // namespace cleave
