// layer/sequential.hpp - a model: an input and layers in order. Name it by inheritance, which shortens errors.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "graph.hpp"

namespace cleave {

template <class Input, class... Layers> struct Sequential {
  using input = Input;
  using layers = meta::list<Layers...>;
  using join_layers = meta::list<>;
  using ops = meta::concat<layer::ops_of<Layers>...>;
  static constexpr void connect(auto& graph) { layer::connect<Layers...>(graph); }
};

}  // namespace cleave
