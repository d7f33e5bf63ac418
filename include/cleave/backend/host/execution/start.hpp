// backend/host/execution/start.hpp - initial values of learned tensors and running statistics on one rank: a function of the seed.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../../../op/start.hpp"
#include "../../../schedule/build.hpp"
#include "../../../schedule/shard.hpp"
#include "../../../tensor/number.hpp"

namespace cleave::backend::host {

/// weights (P::schedule.weight_elements), states (P::schedule.state_elements) of way `way`.
template <class P, class A> void start(std::uint64_t seed, int way, A* weights, A* states) {
  for (int i = 0; i < P::schedule.weights; ++i) {
    schedule::Weight const& w = P::schedule.weight[i];
    place::Node const& n = P::placed.node[w.node];
    op::Weight const whole = P::signatures.op[n.op].w[w.which];
    tensor::Random const random{seed, tensor::Purpose::Weights, static_cast<std::uint32_t>(i)};
    schedule::each_run(whole.shape, n.w[w.which], way, P::ways, [&](long local, long global, long count) {
      for (long k = 0; k < count; ++k) {
        weights[w.offset + local + k] = static_cast<A>(op::start_value(whole, random, global + k));
      }
    });
  }
  for (int k = 0; k < P::placed.count; ++k) {
    if (P::placed.node[k].op < 0 || P::signatures.op[P::placed.node[k].op].states == 0) continue;
    long const size = P::placed.node[k].local.w0.size();
    for (long i = 0; i < size * P::signatures.op[P::placed.node[k].op].states; ++i) {
      states[P::schedule.state[k] + i] = i / size == 1 ? A{1} : A{0};  // a running variance starts at one
    }
  }
}

}  // namespace cleave::backend::host
