// schedule/forward.hpp - a pass: the instructions that compute a model's values, in the order of its nodes.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "placed_model.hpp"

namespace cleave::schedule {

/// A conversion that moves nothing has no instruction: its value is its input's.
template <int Ops> struct ForwardPass {
  Instruction at[Ops * 4 + 2];
  int count = 0;
  int readers[PlacedModel<Ops>::most_nodes + 1]{};  // of the value of node k - 1; [0] is the input
};

template <int Ops> constexpr ForwardPass<Ops> forward(PlacedModel<Ops> const& m) {
  ForwardPass<Ops> out;
  for (int k = 0; k < m.count; ++k) {
    ++out.readers[m.node(k).in0 + 1];
    if (m.has_second(k)) ++out.readers[m.node(k).in1 + 1];
    if (m.is_op(k)) {
      out.at[out.count++] = {Do::Forward, k};
      if (m.op(k).sums_batch) out.at[out.count++] = {Do::Sum, k};
    } else if (m.node(k).conversion.forward != op::Verb::None) {
      out.at[out.count++] = {Do::Convert, k};
    }
  }
  return out;
}

}  // namespace cleave::schedule
