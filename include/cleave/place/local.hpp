// place/local.hpp - what a rank has of an operation: the extents of its parts, the rows that its windows read, and of a
// product's sum in blocks.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "propagate.hpp"

namespace cleave::place {

/// Of a conversion to what the windows of an operation read on each rank: more rows of the image than its part, where
/// they overlap, and zeros around the image.
struct PaddedRows {
  int height = 0;           // of the image; 0: it is no such conversion
  int first = 0, step = 0;  // the first row read by rank 0, below 0 in the padding, and from one rank to the next
  int rows = 0;             // that a rank reads
  int columns = 0;          // zeros on either side of each row
  friend constexpr bool operator==(PaddedRows const&, PaddedRows const&) = default;
};
inline constexpr int image_rows = 2;  // dimension of rows of pixels

namespace algebra {

/// The largest part of `s` that a rank has, which lacks the first `beyond` dimensions of its tensor: the batch is cut
/// as micro-batches. Of its first dimension `unit` indices stay together, or, of groups, as many times the placement's.
constexpr Shape cut(Shape s, Sharding const& sharding, DeviceMesh const& mesh, int beyond, int unit = 1) {
  for (int a = 0; a < mesh.axes; ++a) {
    int const dim = sharding.on[a].dim - beyond;
    if (sharding.on[a].kind == Kind::Shard && dim >= 0)
      s = s.with(dim,
                 static_cast<int>(Partition{s[dim], (dim == 0 ? unit : 1) * sharding.on[a].unit}.most(mesh.size[a])));
  }
  return s;
}

/// A rank's part of a product's sum in a plan with Blocks.
struct Contraction {
  int blocks = 1;          // that a rank has
  int runs = 1;            // in which the terms lie
  bool is_branch = false;  // of the tree of all blocks, or all of it
};
/// The sum over the letters of a weight that `kept` lacks, of all of a window each. `on`: where the weight is.
constexpr Contraction contraction(Signature const& s, op::Subscripts const& kept, Sharding const& on,
                                  Shape const& local, DeviceMesh const& mesh, int blocks) {
  Contraction out;
  int cuts = 0, last = -1;
  long whole = 1, own = 1;
  for (int d = 0; d < s.w_at.count; ++d) {
    if (kept.has(s.w_at[d]) || (!s.x_at.has(s.w_at[d]) && !s.y_at.has(s.w_at[d]))) continue;
    bool const first = last < 0;
    if (!first && last != d - 1) blocks = 1;  // they do not lie together
    last = d;
    if (first && !op::may_cut(s.w_at[d])) {
      out.runs = s.w[0].shape[d];
      continue;
    }
    whole *= s.w[0].shape[d];
    own *= local[d];
    for (int a = 0; a < mesh.axes; ++a) cuts += mesh.size[a] > 1 && is_shard(on.on[a], d);
  }
  int const all = op::blocks_of(whole, s.sums_in_blocks ? blocks : 1);
  long const parts = whole / own;
  bool const even = cuts < 2 && parts * own == whole && all % parts == 0;
  int const each = even ? all / static_cast<int>(parts) : 1;
  out.is_branch = cuts == 0 || (even && (each & (each - 1)) == 0);
  out.blocks = out.is_branch ? each : 1;
  return out;
}

/// What a rank has of an operation at this placement, its inputs as they are read.
constexpr op::Local local_of(Signature const& s, OpSharding const& at, DeviceMesh const& mesh, Request const& request) {
  op::Local local;
  local.rows = request.rows;
  local.batch = request.rows * request.micro_batches;
  local.x = cut(s.x, at.x, mesh, s.x_at.beyond_shape());
  local.x2 = s.in1 == -2 ? Shape{} : cut(s.x2, at.x2, mesh, s.x2_at.beyond_shape());
  local.y = cut(s.y, at.y, mesh, s.y_at.beyond_shape());
  if (s.weights > 0) local.w0 = cut(s.w[0].shape, at.w, mesh, 0, s.w[0].unit);
  if (s.weights > 1) local.w1 = cut(s.w[1].shape, at.w, mesh, 0, s.w[1].unit);
  if (s.sums_in_blocks && request.blocks > 1) {
    Contraction const over_in = contraction(s, s.y_at, at.w, local.w0, mesh, request.blocks),
                      over_out = contraction(s, s.x_at, at.w, local.w0, mesh, request.blocks);
    local.in_blocks = over_in.blocks;
    local.out_blocks = over_out.blocks;
    local.out_runs = over_out.runs;
  }
  return local;
}

}  // namespace algebra

}  // namespace cleave::place
