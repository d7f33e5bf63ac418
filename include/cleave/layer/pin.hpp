// layer/pin.hpp - `Pin<stage, layers...>` and `Prefer<stage, layers...>`: the stage of a pipeline on which layers are.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "graph.hpp"

namespace cleave {

namespace layer {
template <int Stage, bool Pinned, class... Layers> struct OnStage {
  static_assert(Stage >= 0, "Pin<stage, layers...>, Prefer<stage, layers...>: stages are counted from 0");
  using layers = meta::list<Layers...>;
  using join_layers = meta::list<>;
  using ops = meta::concat<ops_of<Layers>...>;
  static constexpr void connect(auto& graph) {
    int const first = graph.count;
    layer::connect<Layers...>(graph);
    graph.place_from(first, {Stage, Pinned});
  }
};
}  // namespace layer

/// The layers in order, as Path has them, on this stage of `ModelParallel<SplitLayers<stages>>`, counted from 0; the
/// other layers are shared out around them. Stages follow each other as layers do: what cannot be on its stage does not
/// compile. Without a pipeline, as in a Predictor, it says nothing. Within each other, the innermost counts.
template <int Stage, class... Layers> struct Pin : layer::OnStage<Stage, true, Layers...> {};
/// The same, where it goes together with what is pinned and with what layers before prefer; else they are placed as if
/// nothing were said. The printed plan says where they are. Of Interleaved stages it says nothing.
template <int Stage, class... Layers> struct Prefer : layer::OnStage<Stage, false, Layers...> {};

}  // namespace cleave
