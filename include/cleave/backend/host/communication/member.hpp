// backend/host/communication/member.hpp - one rank as a member of its groups: its peers, their tensors, and what it has read.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cstring>
#include <vector>

#include "../../../schedule/group.hpp"
#include "timeline.hpp"
#include "world.hpp"

namespace cleave::backend::host {

/// All layouts are equal, so a peer's tensor has the same offset in the peer's arena.
struct Member {
  World* world = nullptr;
  int rank = 0;
  long round = 0;              // passes so far; marks of a pass are round * marks + phase
  std::vector<long> received;  // elements read from each rank: what that rank has sent
  std::vector<long> received_bytes;
  /// Of these, the part that depends on the data: sparse rows of gradients.
  struct Sparse {
    long rows = 0, elements = 0, bytes = 0;
  };
  std::vector<Sparse> sparse;
  double waited = 0;                         // seconds, in all collectives
  long letters[schedule::most_groups] = {};  // mailbox slots written so far, in each group
  Timeline* timeline = nullptr;              // set in steps that are traced
  static constexpr long marks = 1 << 16;

  int replica() const { return world->ranks().coordinate(rank, 0); }
  /// Its number among the ranks of its replica.
  int way() const { return rank % world->ranks().ways(); }
  schedule::RankGroup group(schedule::AxisSet over) const { return {over, world->ranks(), rank}; }
  /// Of its ranks at another stage of a pipeline.
  schedule::RankGroup group_at(int stage, schedule::AxisSet over) const {
    return {over, world->ranks(), world->ranks().at_stage(rank, stage)};
  }
  /// The micro-batches of this rank in a round, where these axes cut the batch.
  schedule::Range slices(schedule::Share const& s, schedule::AxisSet cut, int in_round) const {
    return s.part(cut, rank, in_round);
  }
  template <class T> T* at(int peer_rank, long offset) const {
    return reinterpret_cast<T*>(world->seen_by(rank, peer_rank) + offset);
  }

  void reach(int step, int phase) const { world->reach(rank, step, round * marks + phase); }
  bool have_reached(std::vector<int> const& peers, int step, long mark) const {
    return std::all_of(peers.begin(), peers.end(), [&](int p) { return world->reached(p, step, mark); });
  }
  bool has_reached(int peer_rank, int step, int phase) const {
    return world->reached(peer_rank, step, round * marks + phase);
  }
  void await_one(int peer_rank, int step, int phase) {
    if (has_reached(peer_rank, step, phase)) return;
    long const begin = Timeline::now();
    world->await(peer_rank, step, round * marks + phase, rank);
    waited_since(begin, step);
  }
  /// Until a rank's counter of a step is `mark`.
  void await_value(int peer_rank, int step, long mark) {
    if (mark <= 0 || world->reached(peer_rank, step, mark)) return;
    long const begin = Timeline::now();
    world->await(peer_rank, step, mark, rank);
    waited_since(begin, step);
  }
  void await_these(std::vector<int> const& peers, int step, long mark) {
    if (have_reached(peers, step, mark)) return;
    long const begin = Timeline::now();
    for (int p : peers) world->await(p, step, mark, rank);
    waited_since(begin, step);
  }
  /// Between the pieces of a sum: counted, but not noted in a trace, since there is no bound on their number.
  void await_piece(int peer_rank, int step, int phase) {
    if (has_reached(peer_rank, step, phase)) return;
    long const begin = Timeline::now();
    world->await(peer_rank, step, round * marks + phase, rank);
    waited += static_cast<double>(Timeline::now() - begin) * 1e-9;
  }
  void await(schedule::RankGroup const& g, int step, int phase) { await_mark(g, step, round * marks + phase); }
  void await_mark(schedule::RankGroup const& g, int step, long mark) {
    bool there = true;
    for (int i = 0; i < g.size && there; ++i) there = world->reached(g.rank(i), step, mark);
    if (there) return;
    long const begin = Timeline::now();
    for (int i = 0; i < g.size; ++i) world->await(g.rank(i), step, mark, rank);
    waited_since(begin, step);
  }
  /// Writes a mailbox slot of a group of two ranks, and returns that of the other when it has arrived.
  World::Letter const& exchange(schedule::RankGroup const& g, int step, void const* words, long bytes) {
    long const number = ++letters[g.over.bits];
    World::Letter& own = world->letter(rank, g.over, number);
    std::memcpy(own.body, words, static_cast<std::size_t>(bytes));
    own.mark.store(number, std::memory_order_release);
    int const other = g.rank(1 - g.mine);
    World::Letter const& theirs = world->letter(other, g.over, number);
    auto const there = [&] { return theirs.mark.load(std::memory_order_acquire) == number; };
    if (there()) return theirs;
    long const begin = Timeline::now();
    world->await_until(other, step, rank, there);
    waited_since(begin, step);
    return theirs;
  }
  void waited_since(long begin, int step) {
    long const end = Timeline::now();
    waited += static_cast<double>(end - begin) * 1e-9;
    if (timeline) timeline->note(Did::Wait, Lane::Sums, step, begin, end);
  }
  /// Makes elements of a peer's tensor at this offset readable.
  template <class T> void fetch(int peer_rank, long offset, long first, long elements) {
    world->fetch(rank,
                 {peer_rank, offset + first * static_cast<long>(sizeof(T)), elements * static_cast<long>(sizeof(T))});
  }
  void read_from(int peer_rank, long elements, long bytes_each) {
    read_message(peer_rank, elements, elements * bytes_each);
  }
  void read_rows(int peer_rank, long rows, long elements, long header, long bytes) {
    read_message(peer_rank, elements, header + bytes);
    if (peer_rank == rank) return;
    Sparse& s = sparse[static_cast<std::size_t>(peer_rank)];
    s.rows += rows;
    s.elements += elements;
    s.bytes += bytes;
  }
  void read_message(int peer_rank, long elements, long bytes) {
    if (peer_rank == rank) return;
    received[static_cast<std::size_t>(peer_rank)] += elements;
    received_bytes[static_cast<std::size_t>(peer_rank)] += bytes;
  }
};

}  // namespace cleave::backend::host
