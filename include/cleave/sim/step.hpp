// sim/step.hpp - a model of a plan's step on other devices and links: what overlaps with the backward pass.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "spans.hpp"

namespace cleave {

namespace sim {

/// In nanoseconds. `exposed`: waited for gradients after the backward pass, and for their norm; `converting`: for
/// values between ranks; `updating`: the optimizer's steps; `bubble`: waited for other stages of a pipeline. They add
/// up to `total`.
struct Step {
  double compute = 0, exposed = 0, converting = 0, updating = 0, bubble = 0, total = 0;

  constexpr void add(StepSpan const& s) {
    using enum Activity;
    switch (s.what) {
      case Forward:
      case Backward:
        compute += s.length();
        break;
      case Convert:
        converting += s.length();
        break;
      case Update:
        updating += s.length();
        break;
      case Norm:
      case WaitForSums:
        exposed += s.length();
        break;
      case WaitForStage:
        bubble += s.length();
        break;
      default:
        break;
    }
  }
};

/// The step of each stage among `replicas` replicas at these speeds: layer by layer as scheduled, in `rounds` if
/// gradients accumulate; a message starts when its gradient is complete and the link is free.
template <class P> struct StageSteps {
  Step of[StepModel<P>::stages];
  constexpr explicit StageSteps(StepModel<P> const& model) {
    double const total = each_span(model, [&](int stage, StepSpan const& s) { of[stage].add(s); });
    for (Step& s : of) s.total = total;
  }
};
/// Of the stage that waits least for others.
template <class P> constexpr Step step_at(Speeds const& speed, int replicas) {
  StageSteps<P> const all(StepModel<P>(speed, replicas));
  Step const* least = all.of;
  for (Step const& s : all.of) least = s.bubble < least->bubble ? &s : least;
  return *least;
}
/// On machine M.
template <class M, class P> constexpr Step step(int replicas) {
  return step_at<P>(speeds<M>(P::format.data), replicas);
}
/// How much faster n replicas are than one, on the same batch.
template <class M, class P> constexpr double speedup(int n) { return step<M, P>(1).total / step<M, P>(n).total; }
/// The number of replicas, up to `most`, beyond which one more makes a step no faster.
template <class M, class P> constexpr int knee(int most) {
  int best = 1;
  for (int n = 2; n <= most && n <= P::micro_batches; ++n) {
    if (step<M, P>(n).total < step<M, P>(best).total) best = n;
  }
  return best;
}

}  // namespace sim

/// Modelled nanoseconds of one training step of plan P on machine M: `static_assert(step_time<Train, Lab> < 12_ms)`.
template <class P, class M, int Replicas = (P::replicas > 0 ? P::replicas : 1)>
inline constexpr double step_time = sim::step<M, P>(Replicas).total;

/// What most of a modelled step's time goes to.
enum class Bottleneck : unsigned char { Compute, Gradients, Conversions, Update, Stages };
template <class P, class M, int Replicas = (P::replicas > 0 ? P::replicas : 1)>
inline constexpr Bottleneck bottleneck = [] {
  constexpr sim::Step s = sim::step<M, P>(Replicas);
  double const by[] = {s.compute, s.exposed, s.converting, s.updating, s.bubble};
  int most = 0;
  for (int i = 1; i < 5; ++i) most = by[i] > by[most] ? i : most;
  return static_cast<Bottleneck>(most);
}();

}  // namespace cleave
