// layer/recompute.hpp - `Recompute<Block>`: layers whose values are computed again on the way back instead of being kept.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "graph.hpp"

namespace cleave {

/// The layers in order, as Path has them, in less memory: a step keeps what other layers read of them and what ranks
/// have sent each other, but for positions that are gathered again (so a single layer saves little), and computes all
/// else again before their gradients, for up to one more forward pass of them. `Repeat<12, Recompute<Block>>` keeps
/// twelve values of a transformer, and the others of one block. The numbers are those of Path, on the host bit for bit
/// (a device computes no chain of small products within them by one kernel). Refused with BatchNorm inside, whose
/// statistics a second pass would count twice. Source: Chen et al., "Training deep nets with sublinear memory cost",
/// arXiv 1604.06174.
template <class... Layers> struct Recompute {
  using layers = meta::list<Layers...>;
  using join_layers = meta::list<>;
  using ops = meta::concat<layer::ops_of<Layers>...>;
  static constexpr void connect(auto& graph) {
    int const first = graph.count;
    layer::connect<Layers...>(graph);
    graph.recompute_from(first);
  }
};

}  // namespace cleave
