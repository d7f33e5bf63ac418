// backend/host/execution/start.hpp - initial values of learned tensors and running statistics on one rank: a function of the seed.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <vector>

#include "../../../op/start.hpp"
#include "../../../schedule/program.hpp"
#include "../../../schedule/shard.hpp"
#include "../../../tensor/number.hpp"

namespace cleave::backend::host {

/// set(offset, count, values) for each learned tensor of way `way`.
template <class A, class Set>
void start_weights(schedule::Program const& program, std::uint64_t seed, int way, Set set) {
  std::vector<A> values;
  for (int i = 0; i < program.weights; ++i) {
    schedule::Weight const& w = program.weight[i];
    schedule::ProgramNode const& n = program.node[w.node];
    op::Weight const whole = n.weight[w.which];
    tensor::Random const random{seed, tensor::Purpose::Weights, static_cast<std::uint32_t>(i)};
    values.assign(static_cast<std::size_t>(w.count), A{0});  // zeros behind a smaller part than other ways have
    schedule::each_run(whole.shape, whole.unit, n.w, program.mesh, way, [&](long local, long global, long count) {
      for (long k = 0; k < count; ++k)
        values[static_cast<std::size_t>(local + k)] = static_cast<A>(op::start_value(whole, random, global + k));
    });
    set(w.offset, w.count, values.data());
  }
}
/// states (state_elements).
template <class A> void start_states(schedule::Program const& program, A* states) {
  for (int k = 0; k < program.nodes; ++k) {
    schedule::ProgramNode const& n = program.node[k];
    for (long i = 0; i < n.state_size * n.states; ++i) {
      states[program.state[k] + i] = i / n.state_size == 1 ? A{1} : A{0};  // a running variance starts at one
    }
  }
}

}  // namespace cleave::backend::host
