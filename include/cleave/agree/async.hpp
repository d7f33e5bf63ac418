// agree/async.hpp - every gradient is applied as it arrives, to weights that may have changed meanwhile.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "agreement.hpp"
#include "free.hpp"

namespace cleave {

/// No replica waits. A gradient of N equal replicas is N - 1 updates old on average.
struct Async : agree::Agreement {
  static constexpr bool served = true, ages = true;
  template <int Most, class Stale, int WarmUp> using keeper = agree::Free<Most, Stale, WarmUp>;
};

/// A replica updates local weights by plain SGD, fetches the server's every `Fetch` gradients and pushes the sum of its
/// gradients every `Push`. Meant for Adagrad on the server. Source: Dean et al., "Large scale distributed deep
/// networks", NIPS 2012, section 4.1.
template <int Fetch, int Push> struct Downpour : agree::Agreement {
  static constexpr bool served = true, ages = true;
  static constexpr agree::Pace pace{Fetch, Push};
  template <int Most, class Stale, int WarmUp> using keeper = agree::Free<Most, Stale, WarmUp>;
};

/// As Async, but a replica that is more than `Bound` gradients ahead of the slowest waits for it. Source: Ho et al.,
/// "More effective distributed ML via a stale synchronous parallel parameter server", NIPS 2013.
template <int Bound> struct StaleSynchronous : agree::Agreement {
  static constexpr bool served = true, ages = true;
  template <int Most, class Stale, int WarmUp> using keeper = agree::Free<Most, Stale, WarmUp, Bound>;
};

}  // namespace cleave
