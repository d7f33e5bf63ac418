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
  constexpr long apart(int rank) const { return part_elements(*program, program->format, *ranks, ranks->stage(rank)); }
  /// On the rank that has the part of a bucket which begins at `begin`.
  constexpr PartShifts shifts(int bucket, long begin) const {
    Bucket const& of = program->bucket[bucket];
    if (!in_parts()) return {of.shift, of.shift, of.shift};
    int const stage = program->pipeline.stage(of.part);
    long const own = parts_before(*program, *ranks, bucket, stage) - of.offset - begin;
    return {own, masters_in_parts() ? own : of.shift, weights_in_turn() ? own : of.shift};
  }
  /// visit(rank, first weight, how many, shifts) for the weights [first, first + count) of `rank`'s way, by the ranks
  /// that have their moments, in order. Weights that do not learn have none.
  template <class Visit> constexpr void each_owner(int rank, long first, long count, Visit visit) const {
    if (!in_parts()) return each_place(rank, first, count, visit);
    for (int b = 0; b < program->buckets; ++b) {
      Bucket const& bucket = program->bucket[b];
      RankGroup const group =
          group_over(bucket.over, *ranks, ranks->at_stage(rank, program->pipeline.stage(bucket.part)));
      for (int i = 0; i < group.size; ++i) {
        long const begin = op::part_begin(bucket.count, i, group.size);
        long const from = std::max(first, bucket.offset + begin),
                   to = std::min(first + count, bucket.offset + op::part_begin(bucket.count, i + 1, group.size));
        if (from < to) visit(group.rank(i), from, to - from, shifts(b, begin));
      }
    }
  }
  /// The same by the ranks of the stages that have them, each of them whole.
  template <class Visit> constexpr void each_place(int rank, long first, long count, Visit visit) const {
    if (!program->pipeline.is_split()) return visit(rank, first, count, PartShifts{});
    for (int i = 0; i < program->weights; ++i) {
      Weight const& w = program->weight[i];
      long const from = std::max(first, w.offset), to = std::min(first + count, w.offset + w.count);
      int const owner = ranks->at_stage(rank, program->pipeline.stage(w.part));
      if (from < to) visit(owner, from, to - from, PartShifts{w.shift, w.shift, w.shift});
    }
  }
  /// visit(first weight, how many, element of its tensor) for the master weights that `rank` has of those of its way
  /// [first, first + count); and for the weights that it has as they are read, by its kernels or, in turn, by others.
  template <class Visit> constexpr void each_master(int rank, long first, long count, Visit visit) const {
    each_own(masters_in_parts(), &PartShifts::weights, rank, first, count, visit);
  }
  template <class Visit> constexpr void each_copy(int rank, long first, long count, Visit visit) const {
    each_own(weights_in_turn(), &PartShifts::copies, rank, first, count, visit);
  }

 private:
  template <class Visit>
  constexpr void each_own(bool by_parts, long PartShifts::*shift, int rank, long first, long count, Visit visit) const {
    auto const mine = [&](int owner, long from, long many, PartShifts const& of) {
      if (owner == rank) visit(from, many, from + of.*shift);
    };
    by_parts ? each_owner(rank, first, count, mine) : each_place(rank, first, count, mine);
  }
};

}  // namespace cleave::schedule
