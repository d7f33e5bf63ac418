// schedule/exchange_traffic.hpp - counts what a rank sends in an exchange: all that its peers read from it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "exchange.hpp"
#include "offsets.hpp"

namespace cleave::schedule {

/// What one rank reads from another: elements (those of sparse rows are known in the run only) and bytes.
struct TrafficCount {
  Format const& format;
  int of = 0;  // the rank that sends
  long elements = 0, sent_bytes = 0;

  constexpr void round() {}
  constexpr void write(Write const&) {}
  constexpr void source(Source const& s) {
    if (s.rank != of) return;
    elements += is_counted(s.in.in) ? 0 : s.at.size();
    sent_bytes += bytes(s.in.in, s.at.size(), format);
  }
};

/// What `rank` sends in a step of the program, over all its accumulation rounds.
constexpr TrafficCount sent(Program const& program, int step, Share const& share, int rank) {
  TrafficCount count{program.format, rank};
  int const times = once_a_step(program.step[step].what, share.sums_rounds) ? 1 : share.rounds;
  for (int reader = 0; reader < share.ranks.world(); ++reader) {
    for (int round = 0; round < times && reader != rank; ++round) exchange(program, step, share, reader, round, count);
  }
  return count;
}

}  // namespace cleave::schedule
