// agree/free.hpp - every gradient is a separate update; no worker waits for others, unless it is too far ahead.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <limits>

#include "roster.hpp"
#include "staleness.hpp"

namespace cleave::agree {

/// The state machine of `Async`, `Downpour`, `ElasticAveraging` and, with a bound, `StaleSynchronous<bound>`: a worker
/// may be at most this many gradients ahead of the slowest live one. Source of the bound: Ho et al., "More effective
/// distributed ML via a stale synchronous parallel parameter server", NIPS 2013. Reports when no worker is live any
/// more.
template <int Most, class Staleness = Stale<>, int WarmUpUpdates = 0, int Bound = -1> struct Free {
  static constexpr int most = Most;
  Roster<Most> roster;
  int version = 0;
  int heard[Most]{};         // in this incarnation: one more than the highest number of a gradient
  unsigned missing[Most]{};  // of the 32 numbers below that, those not received yet, as bits: they may still arrive
  int clock[Most]{};         // gradients in total; a worker that joins starts at the slowest
  int waiting[Most]{};       // it has asked and has not been granted yet
  int alone = 0;             // 1 + the worker that makes the updates of the warm-up

  constexpr void hear(Event const& e, Actions<Most>& out) {
    int const w = e.worker;
    switch (e.what) {
      case Heard::Joined:
        if (roster.join(w, e.life)) {
          heard[w] = 0;
          missing[w] = 0;
          int const slowest = slowest_but(w);
          if (slowest >= 0 && clock[w] < slowest) clock[w] = slowest;
          waiting[w] = 1;
        } else if (roster.knows(e)) {
          waiting[w] = 1;
        }
        break;
      case Heard::Left:
        if (!roster.leave(w, e.life)) return;
        waiting[w] = 0;
        if (roster.live == 0) return out.add({Done::Fail, w, 0});
        break;
      case Heard::Asked:
        if (roster.knows(e)) waiting[w] = 1;
        break;
      case Heard::Pushed:
        pushed(e, out);
        break;
    }
    for (int k = 0; k < Most; ++k) {
      if (!waiting[k] || !may_go(k)) continue;
      waiting[k] = 0;
      if (version < WarmUpUpdates) alone = k + 1;
      out.add({Done::Grant, k, version});
    }
  }

  /// Whether others may wait for this worker.
  constexpr bool waited_for(int w) const {
    if (version < WarmUpUpdates) return alone == w + 1;
    if (Bound < 0 || !roster.here[w]) return false;
    int const slowest = slowest_but(w);
    return slowest < 0 || clock[w] <= slowest;
  }

 private:
  constexpr int slowest_but(int w) const {
    int slowest = -1;
    for (int k = 0; k < Most; ++k) {
      if (k != w && roster.here[k] && (slowest < 0 || clock[k] < slowest)) slowest = clock[k];
    }
    return slowest;
  }
  constexpr bool may_go(int w) const {
    if (version < WarmUpUpdates) return alone == 0 || alone == w + 1 || !roster.here[alone - 1];
    int const slowest = slowest_but(w);
    return Bound < 0 || slowest < 0 || clock[w] - slowest <= Bound;
  }
  /// Messages may be lost, duplicated and overtaken; each number counts once.
  constexpr bool first_time(int w, int count) {
    if (count < 0 || count == std::numeric_limits<int>::max()) return false;
    int const back = heard[w] - 1 - count;
    if (back >= 32) return false;
    if (back >= 0) {
      bool const first = missing[w] >> back & 1u;
      missing[w] &= ~(1u << back);
      return first;
    }
    missing[w] = -back >= 32 ? ~0u : (missing[w] << -back) | ((1u << -back) - 1);
    missing[w] &= ~1u;
    heard[w] = count + 1;
    return true;
  }
  constexpr void pushed(Event const& e, Actions<Most>& out) {
    bool const possible = e.version >= 0 && e.version <= version;  // computed with weights that existed
    int const w = e.worker, age = possible ? version - e.version : 0;
    bool const fresh = roster.knows(e) && first_time(w, e.count);
    bool const drop = !fresh || !possible || Staleness::drops(age);
    out.add({drop ? Done::Drop : Done::Take, w, version, age, drop ? 0 : Staleness::share(age)});
    if (!drop) out.add({Done::Update, w, ++version});
    if (fresh) ++clock[w];
    if (e.asks && roster.knows(e)) waiting[w] = 1;
  }
};

}  // namespace cleave::agree
