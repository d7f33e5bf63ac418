// train/owners.hpp - which ranks have the elements of a region of a way: all replicas alike, or under Zero a part each.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../backend/host/execution/arena.hpp"
#include "../schedule/optimizer_parts.hpp"

namespace cleave::session {

/// visit(rank, element of its region, element of the values, how many) for [first, first + count) of the way of `rank`.
/// Under Zero the rank that updates a weight has its moments, and its newest value in the format of sums: in its part
/// of the weights, or, if all ranks have all of them, where these are.
template <class Visit>
void each_owner(schedule::Program const& program, schedule::Ranks const& ranks, int rank, backend::host::Region region,
                long first, long count, Visit visit) {
  using backend::host::Region;
  schedule::OptimizerParts const parts{&program, &ranks};
  long const all = program.weight_elements;
  if (region == Region::States || !parts.in_parts()) return visit(rank, first, 0L, count);
  bool const in_place = region == Region::Weights && !parts.masters_in_parts();
  if (in_place) visit(rank, first, 0L, count);  // those that do not learn; the others follow
  long const tensor = first / all, begin = first % all;
  parts.each_owner(rank, begin, count, [&](int owner, long from, long many, long shift) {
    long const at = in_place ? from : tensor * parts.apart() + from + shift;
    visit(owner, at, from - begin, many);
  });
}

}  // namespace cleave::session
