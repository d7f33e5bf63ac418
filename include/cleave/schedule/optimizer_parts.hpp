// schedule/optimizer_parts.hpp - where what the optimizer keeps of a bucket lies: whole on every rank, or under Zero a part on each.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>

#include "group.hpp"
#include "program.hpp"

namespace cleave::schedule {

/// From a weight's element to that of its moments, of its master, and of its copy: where a rank updates its part.
struct PartShifts {
  long moments = 0, weights = 0, copies = 0;
};

/// Of a program that is run, on these ranks.
struct OptimizerParts {
  Program const* program = nullptr;
  Ranks const* ranks = nullptr;

  constexpr bool in_parts() const { return optimizer_in_parts(program->format, *ranks); }
  constexpr bool masters_in_parts() const { return schedule::masters_in_parts(*program, program->format, *ranks); }
  constexpr bool weights_in_turn() const { return schedule::weights_in_turn(program->format, *ranks); }
  /// The elements of one tensor on a rank.
  constexpr long apart() const { return part_elements(*program, program->format, *ranks); }
  /// From a weight's element to that of its moments (and of its master, if these are in parts), on the rank that has
  /// the part of a bucket which begins at `begin`.
  constexpr long shift(int bucket, long begin) const {
    if (!in_parts()) return 0;
    return parts_before(*program, *ranks, bucket) - program->bucket[bucket].offset - begin;
  }
  constexpr PartShifts shifts(int bucket, long begin) const {
    long const own = shift(bucket, begin);
    return {own, masters_in_parts() ? own : 0, weights_in_turn() ? own : 0};
  }
  /// visit(rank, first weight, how many, shift) for the weights [first, first + count) of `rank`'s way, by the ranks
  /// that have their moments, in order. Weights that do not learn have none.
  template <class Visit> constexpr void each_owner(int rank, long first, long count, Visit visit) const {
    if (!in_parts()) return visit(rank, first, count, 0L);
    for (int b = 0; b < program->buckets; ++b) {
      Bucket const& bucket = program->bucket[b];
      RankGroup const group = group_over(bucket.over, *ranks, rank);
      for (int i = 0; i < group.size; ++i) {
        long const begin = op::part_begin(bucket.count, i, group.size);
        long const from = std::max(first, bucket.offset + begin),
                   to = std::min(first + count, bucket.offset + op::part_begin(bucket.count, i + 1, group.size));
        if (from < to) visit(group.rank(i), from, to - from, shift(b, begin));
      }
    }
  }
  /// visit(first weight, how many, element of its tensor) for the master weights that `rank` has of those of its way
  /// [first, first + count); and for the weights that it has as they are read, by its kernels or, in turn, by others.
  template <class Visit> constexpr void each_master(int rank, long first, long count, Visit visit) const {
    masters_in_parts() ? each_own(rank, first, count, visit) : visit(first, count, first);
  }
  template <class Visit> constexpr void each_copy(int rank, long first, long count, Visit visit) const {
    weights_in_turn() ? each_own(rank, first, count, visit) : visit(first, count, first);
  }

 private:
  template <class Visit> constexpr void each_own(int rank, long first, long count, Visit visit) const {
    each_owner(rank, first, count, [&](int owner, long from, long many, long shift) {
      if (owner == rank) visit(from, many, from + shift);
    });
  }
};

}  // namespace cleave::schedule
