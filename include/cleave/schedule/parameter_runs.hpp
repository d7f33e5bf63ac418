// schedule/parameter_runs.hpp - a pass: the groups that the plan's optimizer puts its weights in, as runs of a rank's weights.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../optim/parameter_group.hpp"
#include "schedule.hpp"

namespace cleave::schedule {

/// Of plan P, whose optimizer has groups.
template <class P> class ParameterRunsOf {
  struct Runs {
    optim::ParameterRun of[P::schedule.weights + 1];
    int count = 0;
  };
  static constexpr Runs make() {
    Runs out;
    for (int i = 0; i < P::schedule.weights; ++i) {
      Weight const& w = P::schedule.weight[i];
      auto const& s = P::signatures.op[P::placed.node[w.node].op];
      optim::RunGroup group{{}, s.averages};
      if (s.averages == 0) group = {P::optimizer::group(Parameter{s.leaf, s.name, w.which, s.w[w.which].shape}), 0};
      if (out.count == 0 || !(out.of[out.count - 1].group == group)) out.of[out.count++].group = group;
      out.of[out.count - 1].end = w.offset + w.count;
    }
    return out;
  }
  static constexpr Runs runs = make();

 public:
  static constexpr optim::ParameterRuns view{runs.of, runs.count};
};
template <class P> constexpr optim::ParameterRuns parameter_runs_of() {
  if constexpr (optim::HasGroups<typename P::optimizer>) return ParameterRunsOf<P>::view;
  return {};
}

}  // namespace cleave::schedule
