// backend/host/gradients/norm.hpp - the sum of squares that gradients are clipped by.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../../../schedule/program.hpp"
#include "../../../tensor/number.hpp"
#include "exact_squares.hpp"

namespace cleave::backend::host {

/// Of the gradients g of all ways, one after the other: each way's sum is rounded, then these are added in their order.
template <class G> double squares_of_ways(schedule::Program const& program, G const* g) {
  schedule::Ranks const ranks = program.mesh.with_replicas(1);
  double all = 0;
  for (int way = 0; way < ranks.ways(); ++way, g += program.weight_elements) {
    ExactSquares<tensor::accumulate_t<G>> own;
    for (int i = 0; i < program.norms; ++i) {
      schedule::OfNorm const& n = program.norm[i];
      if (ranks.index(way, n.alike) == 0) own.add(g + n.offset, n.count);
    }
    all += own.value();
  }
  return all;
}

}  // namespace cleave::backend::host
