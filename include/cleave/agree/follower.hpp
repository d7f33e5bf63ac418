// agree/follower.hpp - shards of a server that make the updates that the server's first shard has decided.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "event.hpp"

namespace cleave::agree {

// Where replicas wait for each other, the agreement of the first shard decides for all shards which pushes an update is
// made of. If each shard counted for itself, two replicas could be late at different shards, and each would wait for an
// update that needs the other.
//
//      worker                      other shards     first shard
//        |  Pushed(version) ----------->  |               |      kept, and confirmed
//        |  Pushed(version) --------------------------->  |      once all others have confirmed
//        |  <-------------------- Grant(version + 1, Decision)   of an update that it completes, or another
//        |  follow(Decision) ---------->  |               |      the first such message makes the update
//        |  <--- weights of version + 1   |               |
//
// A push that the first shard counts was kept by all others before, and is named by the life that made it. Every worker
// of an update has computed with the version before it, of all shards: no shard is more than one update behind.

/// The update that makes `version`: of each worker the life whose push it has, 0: none.
template <int Most> struct Decision {
  int version = 0;
  int life[Most]{};
};

enum class Followed : int {
  Had,      // the update was made before
  Updates,  // it is to be made now, of what is kept
  Behind,   // updates before it are missing
  Lacks     // a push is missing
};

/// The state of a shard that follows.
template <int Most> struct Follower {
  static constexpr int most = Most;
  int version = 0;
  int kept[Most]{};  // of each worker, the life whose push for the next update is here; 0: none

  /// A push for the next update replaces an earlier one of its worker. All else needs no answer of this shard.
  constexpr void hear(Event const& e, Actions<Most>& out) {
    if (e.what != Heard::Pushed) return;
    bool const next = e.version == version;
    if (next) kept[e.worker] = e.life;
    out.add({next ? Done::Take : Done::Drop, e.worker, version, version - e.version});
  }
  constexpr Followed follow(Decision<Most> const& d) {
    if (d.version <= version) return Followed::Had;
    if (d.version > version + 1) return Followed::Behind;
    bool of_some = false, of_all = true;
    for (int w = 0; w < Most; ++w) {
      of_some = of_some || d.life[w] != 0;
      of_all = of_all && (d.life[w] == 0 || kept[w] == d.life[w]);
    }
    if (!of_some || !of_all) return Followed::Lacks;
    begin_at(d.version);
    return Followed::Updates;
  }
  /// Goes on from this version, without what was kept.
  constexpr void begin_at(int from) {
    version = from;
    for (int& k : kept) k = 0;
  }
  /// No worker waits for another here.
  constexpr bool waited_for(int) const { return false; }
};

}  // namespace cleave::agree
