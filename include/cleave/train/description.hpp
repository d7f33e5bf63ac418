// train/description.hpp - what trainers, checkpoints and programs ask of a plan, as one value.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string_view>

#include "../schedule/program.hpp"
#include "../tensor/number.hpp"

namespace cleave::session {

/// A plan without its layers' and policies' types. Copied freely; owns nothing.
struct Description {
  schedule::Program program;
  place::Request request;
  std::string_view number;  // name of the number format
  int batch = 1;            // samples of a step
  int replicas = 0;         // that the plan fixes; 0: any number
  int moments = 0;          // tensors that the optimizer keeps, per weight, or a server for its steps to the mean
  bool draws = false;       // some layer draws random numbers in training

  constexpr schedule::Share share(schedule::Ranks ranks) const { return schedule::shared(request, ranks); }
};

template <class P> constexpr Description describe() {
  Description d;
  d.program = schedule::program<P>;
  d.request = P::request;
  d.number = tensor::name_of<typename P::number>;
  d.batch = P::batch;
  d.replicas = P::replicas;
  d.moments = P::agreed::moments(P::optimizer::moments);
  for (int k = 0; k < d.program.nodes; ++k) d.draws = d.draws || d.program.node[k].name == "dropout";
  return d;
}
/// Of plan P.
template <class P> inline constexpr Description description = describe<P>();
/// Waits until all processes of a trainer have come here, if there are several: none then reads what another changes.
template <class Trained> void meet(Trained& trainer) {
  if constexpr (requires { trainer.meet(); }) trainer.meet();
}
/// A trainer without its plan's type, if there is such a base (host_trainer.hpp), else itself.
template <class Trained> constexpr auto& common(Trained& trainer) {
  if constexpr (requires { typename Trained::Common; }) {
    return static_cast<typename Trained::Common&>(trainer);
  } else {
    return trainer;
  }
}
/// Of a trainer's plan.
template <class Trained> constexpr Description const& description_of(Trained const& trainer) {
  if constexpr (requires { trainer.description(); }) {
    return trainer.description();
  } else {
    return description<typename Trained::plan>;
  }
}

}  // namespace cleave::session
