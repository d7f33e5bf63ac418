// backend/gpu/communication/rank_lists.hpp - the exchange of a step as a list for each rank, and what a link makes of it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <span>
#include <vector>

#include "../../../schedule/exchange.hpp"

namespace cleave::backend::gpu {

/// For peers behind a link: what the rounds from `first` on read of a peer is copied before, in a round of its own,
/// over the same elements of `rank`, whose list this is; its peers have read those by then.
inline schedule::TransferList gather_before_apply(schedule::TransferList const& list, int rank, int first) {
  schedule::TransferList out;
  for (int r = 0; r < list.rounds(); ++r) {
    if (r == first) {
      out.round();
      for (int later = first; later < list.rounds(); ++later) {
        list.each(later, [&](schedule::Write const&, std::span<schedule::Source const> from) {
          for (schedule::Source const& s : from) {
            if (s.rank == rank) continue;
            out.write({schedule::Opcode::Copy, s.in, s.at});
            out.source(s);
          }
        });
      }
    }
    out.round();
    list.each(r, [&](schedule::Write const& w, std::span<schedule::Source const> from) {
      out.write(w);
      for (schedule::Source s : from) {
        if (r >= first) s.rank = rank;
        out.source(s);
      }
    });
  }
  return out;
}

/// The lists of all ranks, which have the same number of rounds.
struct RankLists {
  std::vector<schedule::TransferList> of;
  bool packs = false;  // round 0 converts a rank's gradients to the format in which they are sent
  bool meets = false;  // a rank reads another
  int rounds = 0;
  // Of gradients: the round in which a rank decodes and updates; behind it others read new weights. If it does not, the
  // number of rounds.
  int last = 0;

  /// Whether a rank reads a peer in a round.
  bool reads(int round, int rank, int peer) const {
    bool found = false;
    of[static_cast<std::size_t>(rank)].each(round, [&](schedule::Write const&, std::span<schedule::Source const> from) {
      for (schedule::Source const& s : from) found = found || s.rank == peer;
    });
    return found;
  }
  /// Then the last round reads no peer.
  void gather_before_apply() {
    if (rounds == 0) return;
    for (std::size_t rank = 0; rank < of.size(); ++rank)
      of[rank] = gpu::gather_before_apply(of[rank], static_cast<int>(rank), last);
    ++rounds;
    ++last;
  }
};
inline RankLists rank_lists(schedule::Program const& program, int step, schedule::Share const& share,
                            int accumulation) {
  RankLists lists;
  for (int rank = 0; rank < share.ranks.world(); ++rank) {
    schedule::TransferList l;
    schedule::exchange(program, step, share, rank, accumulation, l);
    lists.rounds = l.rounds();
    if (rank == 0) lists.last = lists.rounds;
    for (int round = 0; round < l.rounds(); ++round) {
      lists.meets = lists.meets || !l.peers(round, rank).empty();
      l.each(round, [&](schedule::Write const& w, auto const&) {
        if (w.what == schedule::Opcode::Apply) lists.last = round;
      });
    }
    if (l.rounds() > 0) {
      l.each(0, [&](schedule::Write const& w, auto const&) {
        lists.packs = lists.packs || (w.to.in == schedule::Storage::Wire && w.what == schedule::Opcode::Copy);
      });
    }
    lists.of.push_back(std::move(l));
  }
  return lists;
}

}  // namespace cleave::backend::gpu
