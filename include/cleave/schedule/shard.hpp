// schedule/shard.hpp - which elements of a whole tensor a rank holds: runs that are contiguous in both.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../place/placement.hpp"
#include "../tensor/shape.hpp"

namespace cleave::schedule {

/// Calls run(local, global, count) for the part of `whole`, a tensor without batch, that way w of n holds.
template <class Run> constexpr void each_run(Shape whole, place::Placement p, int w, int n, Run run) {
  if (p.kind != place::Kind::Shard) return run(0L, 0L, whole.size());
  long const inner = whole.stride(p.dim), extent = whole[p.dim], own = extent / n;
  long const outer = whole.size() / (inner * extent);
  for (long o = 0; o < outer; ++o) run(o * own * inner, (o * extent + w * own) * inner, own * inner);
}

}  // namespace cleave::schedule
