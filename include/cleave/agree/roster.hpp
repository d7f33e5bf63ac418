// agree/roster.hpp - which workers are live, and their incarnations.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "event.hpp"

namespace cleave::agree {

/// Messages of one worker may overtake each other: the end of an earlier incarnation never ends a later one.
template <int Most> struct Roster {
  int life[Most]{}, here[Most]{};
  int live = 0;

  /// Returns whether this changes anything.
  constexpr bool join(int w, int its_life) {
    if (its_life <= life[w]) return false;
    if (!here[w]) ++live;
    life[w] = its_life;
    here[w] = 1;
    return true;
  }
  constexpr bool leave(int w, int its_life) {
    if (its_life < life[w] || (its_life == life[w] && !here[w])) return false;
    if (here[w]) --live;
    life[w] = its_life;
    here[w] = 0;
    return true;
  }
  constexpr bool knows(Event const& e) const { return here[e.worker] && life[e.worker] == e.life; }
};

}  // namespace cleave::agree
