// backend/host/communication/all_reduce.hpp - sums over ranks in shared memory: each rank sums its part, then reads the other parts.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cstring>
#include <utility>

#include "../../../op/verb.hpp"
#include "../../../tensor/each.hpp"
#include "../../../tensor/number.hpp"
#include "member.hpp"

namespace cleave::backend::host {

/// The branches of the ordered tree that the ranks of a group hold, from left to right; `branch` counts within a rank.
struct Leaf {
  int rank, branch;
  schedule::Branch of;
};

struct Reduction {
  std::vector<Leaf> leaves;
  int micro_batches = 1;
  bool ordered = true, rounded = false;  // rounded: every sum to the format of the data, so that N ranks and one agree
  /// Two ranks bring a tensor each.
  bool is_pair() const {
    return leaves.size() == 2 && leaves[0].rank != leaves[1].rank && leaves[0].branch == 0 && leaves[1].branch == 0;
  }
};

inline Reduction reduction(Member const& m, Axis axis, schedule::Share share, bool ordered, bool rounded) {
  Reduction how{{}, share.micro_batches, ordered, rounded};
  for (int i = 0; i < m.size(axis); ++i) {
    if (!ordered) {
      how.leaves.push_back({m.peer(axis, i), 0, {}});
      continue;
    }
    schedule::TreeSum sum{share.micro_batches};
    for (int round = 0; round < share.rounds; ++round) {
      schedule::Range const r = share.of(over(axis), i, round);
      for (int s = r.begin; s < r.end; ++s) sum.push({s, 1}, [](int, int) {});
    }
    for (int b = 0; b < sum.depth; ++b) how.leaves.push_back({m.peer(axis, i), b, sum.stack[b]});
  }
  // With accumulation, a rank's branches need not be contiguous.
  if (ordered)
    std::sort(how.leaves.begin(), how.leaves.end(),
              [](Leaf const& a, Leaf const& b) { return a.of.begin < b.of.begin; });
  return how;
}

template <class T, class A> A rounded_to(A value) { return static_cast<A>(static_cast<T>(value)); }

/// to += from, rounded if requested.
template <class T, class A> void add_range(A* to, A const* from, long n, bool rounded) {
  if (rounded) {
    tensor::each(n, [&](long i) { to[i] = rounded_to<T>(to[i] + from[i]); });
  } else {
    tensor::each(n, [&](long i) { to[i] += from[i]; });
  }
}

/// Sums [begin, end) of all leaves: leaf l's tensor is `source(l)`. Calls out(first, count, values) piece by piece.
template <class T, class Source, class Out>
void sum_leaves(Reduction const& how, long begin, long end, Source source, Out out) {
  using A = tensor::accumulate_t<T>;
  constexpr long piece = 512;
  alignas(64) A stack[schedule::most_branches / 2][piece];
  for (long first = begin; first < end; first += piece) {
    long const n = end - first < piece ? end - first : piece;
    schedule::TreeSum sum{how.micro_batches};
    bool empty = true;
    for (Leaf const& leaf : how.leaves) {
      auto const* const from = source(leaf) + first;
      A* const to = stack[how.ordered ? sum.depth : empty ? 0 : 1];
      tensor::each(n, [&](long i) { to[i] = static_cast<A>(from[i]); });
      if (how.ordered) {
        sum.push(leaf.of, [&](int a, int b) { add_range<T>(stack[a], stack[b], n, how.rounded); });
      } else if (!empty) {
        add_range<T>(stack[0], stack[1], n, false);
      }
      empty = false;
    }
    out(first, n, stack[0]);
  }
}

/// Whether all_reduce_of_two applies to a group.
inline bool are_two(Member const& m, Axis axis) { return m.size(axis) == 2 && !m.world->remote(); }

/// All-reduce of n elements between two ranks of a process, from `from` to `result`, which may be equal; blocks. Data
/// that fits into a mailbox slot needs one exchange. More is sent in pieces that fit into a cache: each rank sums its
/// half of a piece and, when it has summed the next one, copies the other half of the first. Either way each rank reads
/// n elements from its peer.
template <class W, class T>
void all_reduce_of_two(Member& m, Axis axis, int step, bool rounded, long from, long result, long n) {
  using A = tensor::accumulate_t<T>;
  int const mine = m.index(axis), other = m.peer(axis, 1 - mine);
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
    return sum(reinterpret_cast<W const*>(m.exchange(axis, step, own, bytes).body), 0, n);
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

/// All-reduce of n elements, held as branches at `branches` (`stride` bytes apart), to `result`; blocks.
template <class W, class T>
void all_reduce(Member& m, Axis axis, int step, Reduction const& how, long branches, long stride, long result, long n) {
  if (are_two(m, axis) && how.is_pair()) {
    return all_reduce_of_two<W, T>(m, axis, step, how.rounded, branches, result, n);
  }
  m.reach(step, 1);
  m.await(axis, step, 1);
  int const size = m.size(axis), mine = m.index(axis);
  W* const own = m.at<W>(m.rank, result);
  long const begin = op::part_begin(n, mine, size), end = op::part_begin(n, mine + 1, size);
  for (Leaf const& leaf : how.leaves) {
    m.read_from(leaf.rank, end - begin, sizeof(W));
    m.fetch<W>(leaf.rank, branches + leaf.branch * stride, begin, end - begin);
  }
  sum_leaves<T>(
      how, begin, end, [&](Leaf const& l) { return m.at<W const>(l.rank, branches + l.branch * stride); },
      [&](long first, long count, auto const* v) {
        for (long i = 0; i < count; ++i) own[first + i] = static_cast<W>(v[i]);
      });
  m.reach(step, 2);
  m.await(axis, step, 2);
  for (int i = 0; i < size; ++i) {
    if (i == mine) continue;
    long const at = op::part_begin(n, i, size), count = op::part_size(n, i, size);
    m.read_from(m.peer(axis, i), count, sizeof(W));
    m.fetch<W>(m.peer(axis, i), result, at, count);
    std::memcpy(own + at, m.at<W>(m.peer(axis, i), result) + at, static_cast<std::size_t>(count) * sizeof(W));
  }
  m.reach(step, 3);
  m.await(axis, step, 3);
}

}  // namespace cleave::backend::host
