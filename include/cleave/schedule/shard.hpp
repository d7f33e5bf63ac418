// schedule/shard.hpp - which elements of a whole tensor a rank holds: runs that are contiguous in both.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../place/sharding.hpp"
#include "../tensor/partition.hpp"
#include "../tensor/shape.hpp"

namespace cleave::schedule {

/// Calls run(local, global, count) for the part of `whole`, a tensor without batch, that a way holds: rank `way` of the
/// first replica. Of the first dimension `unit` indices stay together. Where the parts of a dimension differ, the
/// tensors of all ways are as large as the largest.
template <class Run>
constexpr void each_run(Shape whole, int unit, place::Sharding const& s, place::DeviceMesh const& mesh, int way,
                        Run run) {
  int begin[4]{}, count[4]{};
  Shape held = whole;
  for (int d = 0; d < whole.dims; ++d) count[d] = whole[d];
  int last = 0;  // dimension that is cut
  for (int a = place::data_axis + 1; a < mesh.axes; ++a) {
    if (s.on[a].kind != place::Kind::Shard) continue;
    int const d = s.on[a].dim;
    int const together = d == 0 ? unit : 1;
    Partition const own{count[d], together};
    int const part = mesh.coordinate(way, a), parts = mesh.size[a];
    begin[d] += static_cast<int>(own.begin(part, parts));
    count[d] = static_cast<int>(own.size(part, parts));
    held = held.with(d, static_cast<int>(Partition{held[d], together}.most(parts)));
    last = d > last ? d : last;
  }
  long lines = 1;
  for (int d = 0; d < last; ++d) lines *= count[d];
  for (long line = 0; line < lines; ++line) {
    long at = begin[last] * whole.stride(last), local = 0, rest = line;
    for (int d = last - 1; d >= 0; rest /= count[d--]) {
      at += (begin[d] + rest % count[d]) * whole.stride(d);
      local += rest % count[d] * held.stride(d);
    }
    run(local, at, count[last] * whole.stride(last));
  }
}

}  // namespace cleave::schedule
