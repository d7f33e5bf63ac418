// send/route.hpp - an all-reduce as rounds: in each, a rank reads a run of a peer's sum, and adds or copies it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../op/verb.hpp"
#include "laws.hpp"

namespace cleave::send {

/// The summing ranks, counted within the group; those of one replica are neighbours.
struct Group {
  int ranks = 1;
  int per_replica = 1;
  int bytes_each = 4;  // of an element
};

/// What a rank does in one round: adds or copies [begin, end) of what peer has after the rounds before; peer -1:
/// nothing.
struct Move {
  int peer = -1;
  long begin = 0, end = 0;
  bool add = false;
  constexpr bool any() const { return peer >= 0 && begin < end; }
};

/// Base of all-reduce algorithms; an algorithm is one header:
///   struct Mine : send::Route {
///     static constexpr std::string_view name = "mine";
///     static constexpr int rounds(long elements, Group g);
///     static constexpr Move move(long elements, int rank, Group g, int round);
///     static constexpr long sent(long elements, int rank, Group g);  // what all others read from this rank
///   };
/// No rank may overwrite what a peer has yet to read; tests/send/route.cpp checks this, and the sums.
struct Route {
  using law = sendable;
  static constexpr bool fits(Group) { return true; }
  /// Whether siblings are added in the tree of the ordered sum, if each rank has one branch of the same size.
  static constexpr bool keeps_the_tree(Group) { return false; }
};

/// The part of a rank's traffic that goes to ranks of other nodes.
template <class R> constexpr long sent_across(long elements, int rank, Group g, int ranks_per_node) {
  long sum = 0;
  for (int q = 0; q < g.ranks; ++q) {
    for (int round = 0; q / ranks_per_node != rank / ranks_per_node && round < R::rounds(elements, g); ++round) {
      Move const m = R::move(elements, q, g, round);
      sum += m.peer == rank ? m.end - m.begin : 0;
    }
  }
  return sum;
}

/// The largest number of elements that are read from one rank in one round.
template <class R> constexpr long most_at_once(long elements, Group g) {
  long most = 0;
  for (int round = 0; round < R::rounds(elements, g); ++round) {
    for (int rank = 0; rank < g.ranks; ++rank) {
      long sum = 0;
      for (int q = 0; q < g.ranks; ++q) {
        Move const m = R::move(elements, q, g, round);
        sum += m.peer == rank ? m.end - m.begin : 0;
      }
      most = sum > most ? sum : most;
    }
  }
  return most;
}

constexpr bool is_power_of_two(int n) { return n > 0 && (n & (n - 1)) == 0; }
constexpr int log2_up(int n) {
  int k = 0;
  while (1 << k < n) ++k;
  return k;
}

}  // namespace cleave::send
