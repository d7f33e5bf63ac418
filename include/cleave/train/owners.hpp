// train/owners.hpp - which ranks have the elements of a region of a way: all replicas, or a part each; which stages.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>

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
  if (region == Region::States) return visit(rank, first, 0L, count);
  long const all = std::max(1L, program.weight_elements), tensor = first / all, begin = first % all;
  auto const of = [&](int owner, long from, long many, schedule::PartShifts const& shifts) {
    long const at = region == Region::Weights ? shifts.weights : tensor * parts.apart(owner) + shifts.moments;
    visit(owner, from + at, from - begin, many);
  };
  bool const in_place = region == Region::Weights && parts.in_parts() && !parts.masters_in_parts();
  if (in_place) parts.each_place(rank, begin, count, of);  // those that do not learn; the others follow
  parts.each_owner(rank, begin, count, of);
}

}  // namespace cleave::session
