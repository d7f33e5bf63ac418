// backend/host/kernels/block_tree.hpp - the tree in which the blocks of a product's sum are added, as instructions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../../../schedule/slices.hpp"

namespace cleave::backend::host {

/// `depth` sums are held at once; behind block q `merges[q]` pairs are added.
template <int Blocks> struct BlockTree {
  int depth = 0, merges[Blocks]{};
  constexpr BlockTree() {
    schedule::TreeSum tree{Blocks};
    for (int q = 0; q < Blocks; ++q) tree.push({q, 1}, [&](int, int) { ++merges[q]; });
    depth = tree.deepest;
  }
};

}  // namespace cleave::backend::host
