// schedule/shard.hpp - which elements of a whole tensor a rank holds: runs that are contiguous in both.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../place/sharding.hpp"
#include "../tensor/partition.hpp"
#include "../tensor/shape.hpp"

namespace cleave::schedule {

/// The part of a dimension that a rank holds. Tensors of all ranks are as large as the largest part.
struct HeldPart {
  long begin = 0, size = 0, most = 0;
};
/// Along the axes of a replica: the outermost cuts the dimension first, and each of its parts is cut by the next.
constexpr HeldPart held_part(Partition whole, place::Sharding const& s, int dim, place::DeviceMesh const& mesh,
                             int rank) {
  HeldPart out{0, whole.extent, whole.extent};
  for (int a = place::data_axis + 1; a < mesh.axes; ++a) {
    if (!place::is_shard(s.on[a], dim)) continue;
    long const unit = whole.unit * s.on[a].unit;
    Partition const own{out.size, unit};
    int const part = mesh.coordinate(rank, a), parts = mesh.size[a];
    out.begin += own.begin(part, parts);
    out.size = own.size(part, parts);
    out.most = Partition{out.most, unit}.most(parts);
  }
  return out;
}

/// Calls run(local, global, count) for the part of `whole`, a tensor without batch, that a way holds: rank `way` of the
/// first replica. Of the first dimension `unit` indices stay together.
template <class Run>
constexpr void each_run(Shape whole, int unit, place::Sharding const& s, place::DeviceMesh const& mesh, int way,
                        Run run) {
  long begin[4]{}, count[4]{};
  Shape held = whole;
  int last = 0;  // dimension that is cut
  for (int d = 0; d < whole.dims; ++d) {
    HeldPart const own = held_part({whole[d], d == 0 ? unit : 1}, s, d, mesh, way);
    begin[d] = own.begin;
    count[d] = own.size;
    held = held.with(d, static_cast<int>(own.most));
    last = own.most < whole[d] ? d : last;
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
