// backend/host/communication/all_reduce.hpp - the sum between two ranks of a process, in one exchange or in overlapping pieces.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cstring>
#include <utility>

#include "member.hpp"
#include "sum.hpp"

namespace cleave::backend::host {

/// Whether all_reduce_of_two applies to a group.
inline bool are_two(Member const& m, schedule::RankGroup const& g) {
  return g.size == 2 && m.world->here(g.rank(0)) && m.world->here(g.rank(1));
}

/// All-reduce of n elements between two ranks of a process, from `from` to `result`, which may be equal; blocks. Data
/// that fits into a mailbox slot needs one exchange. More is sent in pieces that fit into a cache: each rank sums its
/// half of a piece and, when it has summed the next one, copies the other half of the first. Either way each rank reads
/// n elements from its peer.
template <class W, class T>
void all_reduce_of_two(Member& m, schedule::RankGroup const& group, int step, bool rounded, long from, long result,
                       long n) {
  using A = tensor::accumulate_t<T>;
  int const mine = group.mine, other = group.rank(1 - mine);
  m.read_from(other, n, sizeof(W));
  W const* const own = m.at<W const>(m.rank, from);
  W* const to = m.at<W>(m.rank, result);
  auto const sum = [&](W const* peer, long begin, long end) {
    W const* const x = own + begin;
    W* const y = to + begin;
    auto const of = [&](long i) { return static_cast<A>(x[i]) + static_cast<A>(peer[i]); };
    if (rounded) {
      tensor::each(end - begin, [&](long i) { y[i] = static_cast<W>(rounded_to<T>(of(i))); });
    } else {
      tensor::each(end - begin, [&](long i) { y[i] = static_cast<W>(of(i)); });
    }
  };
  long const bytes = n * long{sizeof(W)};
  if (bytes <= World::Letter::room) {
    return sum(reinterpret_cast<W const*>(m.exchange(group, step, own, bytes).body), 0, n);
  }
  constexpr long least = 65536, most_pieces = Member::marks / 2;
  long const piece = std::max(least, (n + most_pieces - 1) / most_pieces), pieces = (n + piece - 1) / piece;
  long const half = std::min(n, piece) / 2;
  auto const part = [&](long p, int who) {
    long const end = std::min(n, (p + 1) * piece), middle = std::min(p * piece + half, end);
    return who == 0 ? std::pair{p * piece, middle} : std::pair{middle, end};
  };
  m.reach(step, 1);
  m.await_one(other, step, 1);
  for (long p = 0; p <= pieces; ++p) {
    if (p < pieces) {
      auto const [begin, end] = part(p, mine);
      sum(m.at<W const>(other, from) + begin, begin, end);
      m.reach(step, static_cast<int>(2 + p));
    }
    if (p > 0) {
      m.await_piece(other, step, static_cast<int>(1 + p));
      auto const [begin, end] = part(p - 1, 1 - mine);
      std::memcpy(to + begin, m.at<W const>(other, result) + begin, static_cast<std::size_t>(end - begin) * sizeof(W));
    }
  }
  m.reach(step, static_cast<int>(2 + pieces));
  m.await_one(other, step, static_cast<int>(2 + pieces));
}

}  // namespace cleave::backend::host
