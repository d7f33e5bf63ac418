// backend/host/kernels/block_tree.hpp - the tree in which the blocks of a product's sum are added, as instructions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../../../schedule/slices.hpp"

namespace cleave::backend::host {

/// `depth` sums are held at once; behind block q `merges[q]` pairs are added.
template <int Blocks> struct BlockTree {
  int depth = 0, merges[Blocks]{};
  constexpr BlockTree() {
    depth = schedule::each_leaf(Blocks, [&](int q, int merged) { merges[q] = merged; });
  }
};

}  // namespace cleave::backend::host
