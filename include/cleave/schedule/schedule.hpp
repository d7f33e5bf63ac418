// schedule/schedule.hpp - the result of build.hpp: steps, weights in buckets, tensors with lifetimes.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "chains.hpp"
#include "step.hpp"

namespace cleave::schedule {

inline constexpr int most_narrow = 128;  // columns of a product, in and out, that is linked to others

template <int Ops> struct Schedule : Chains<Schedule<Ops>> {
  static constexpr int most_nodes = Ops * 3 + 2;
  static constexpr int most_buffers = most_nodes * 4 + 4;
  Step step[most_nodes * 4 + 3];
  int steps = 0, forward_steps = 0;
  Weight weight[Ops * 2 + 1];
  int weights = 0;
  Bucket bucket[Ops * 2 + 1];
  int buckets = 0;
  long weight_elements = 0, state_elements = 0;
  long most_weight_leaf = 0, most_sum_leaf = 0;  // the largest sums over the batch that one step takes
  Buffer buffer[most_buffers];
  int buffers = 0;
  // Per node. Buffers, -1 for none.
  int value[most_nodes], aux[most_nodes], gradient[most_nodes];
  int first_weight[most_nodes];           // index into weight
  long state[most_nodes];                 // offset into the states
  int bias[most_nodes], map[most_nodes];  // operations (nodes) merged into this one
  int head[most_nodes];                   // the node that this one is merged into, or itself
  // The number of element-wise operations after a node that are fused to its forward step, and before it that are fused
  // to the step of its input gradient. `in_tail`: the node is one of those.
  int forward_tail[most_nodes]{}, backward_tail[most_nodes]{};
  bool in_forward_tail[most_nodes]{}, in_backward_tail[most_nodes]{};
  bool adds[most_nodes]{};  // the gradient of its input is first added to that of another reader
  int input_value = -1, input_gradient = -1;
  long targets = 0;  // numbers of a sample that the loss uses; 0 if it uses a class
  bool needs_gradient[most_nodes];

  constexpr int step_of(Do what, int node) const {
    int s = 0;
    while (s < steps && !(step[s].what == what && step[s].node == node)) ++s;
    return s < steps ? s : -1;
  }
};

}  // namespace cleave::schedule
