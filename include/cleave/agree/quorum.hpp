// agree/quorum.hpp - an update is the sum of a fixed number of gradients of distinct workers, all of the same version.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "roster.hpp"

namespace cleave::agree {

/// The state machine of `Sync` (quorum: all), `Sync, Spares<k>` (all but k) and of averaging. It never waits for a
/// worker that others can replace, and continues while as many are live as the quorum; with fewer it fails at once. A
/// shared token queue would deadlock if a fast worker takes two tokens of a step and another dies with the third: here
/// every worker has a separate mailbox, and workers are counted, not gradients. Workers that have never joined may
/// still come.
template <int Most> struct Quorum {
  static constexpr int most = Most;
  Roster<Most> roster;
  int workers = Most, quorum = 1;
  int version = 0, taken = 0, failed = 0;
  int counted[Most]{};  // its gradient is in the next update

  constexpr void hear(Event const& e, Actions<Most>& out) {
    if (failed) return;
    switch (e.what) {
      case Heard::Joined:
        roster.join(e.worker, e.life);
        // If it asks twice, the first answer was lost. The work of one whose earlier life is counted would not count.
        if (roster.knows(e) && !counted[e.worker]) out.add({Done::Grant, e.worker, version});
        return;
      case Heard::Left:
        if (roster.leave(e.worker, e.life)) check(e.worker, out);
        return;
      case Heard::Asked:
        if (roster.knows(e)) out.add({Done::Grant, e.worker, version});
        return;
      case Heard::Pushed:
        return pushed(e, out);
    }
  }

  /// Goes on from this version; what was counted for an update before is forgotten.
  constexpr void begin_at(int from) {
    version = from;
    taken = 0;
    for (int& c : counted) c = 0;
  }
  /// Whether others may wait for this worker.
  constexpr bool waited_for(int w) const { return w < workers && !counted[w]; }

 private:
  constexpr int still_possible() const {
    int n = 0;
    for (int w = 0; w < workers; ++w) n += counted[w] || roster.here[w] || roster.life[w] == 0;
    return n;
  }
  /// A worker that has joined and left; -1: none.
  constexpr int gone() const {
    int w = workers - 1;
    while (w >= 0 && (roster.here[w] || roster.life[w] == 0)) --w;
    return w;
  }
  constexpr void check(int worker, Actions<Most>& out) {
    if (still_possible() >= quorum) return;
    failed = 1;
    out.add({Done::Fail, worker, roster.live});
  }
  constexpr void pushed(Event const& e, Actions<Most>& out) {
    if (!roster.knows(e) || e.version != version || counted[e.worker]) {
      out.add({Done::Drop, e.worker, version, version - e.version});
      if (roster.knows(e)) out.add({Done::Grant, e.worker, version});
      return;
    }
    counted[e.worker] = 1;
    out.add({Done::Take, e.worker, version});
    if (++taken < quorum) return;
    out.add({Done::Update, e.worker, ++version});
    taken = 0;
    for (int w = 0; w < Most; ++w) counted[w] = 0;
    for (int w = 0; w < Most; ++w) {
      if (roster.here[w]) out.add({Done::Grant, w, version});
    }
    check(gone(), out);  // a worker that has left may have been in that update, and will not be in the next
  }
};

}  // namespace cleave::agree
