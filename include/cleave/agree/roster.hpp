// agree/roster.hpp - which workers are live, in which of their lives.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "event.hpp"

namespace cleave::agree {

/// Messages of one worker may overtake each other: the news of a life that has ended never ends the next one.
template <int Most> struct Roster {
  int life[Most]{}, here[Most]{};
  int live = 0;

  /// True if this is news.
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
