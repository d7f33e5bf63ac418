// layer/residual.hpp - y = x + f(x), and parallel paths whose results are added, multiplied or concatenated.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../op/join.hpp"
#include "graph.hpp"

namespace cleave {

/// The join at the end counts as a separate layer, so that an error can name it.
template <class Op> struct Join : layer::Chain<Op> {};
using Plus = op::Add;
using Times = op::Multiply;
using Concat = op::Concatenate;

template <class... Layers> struct Residual {
  using layers = meta::list<Layers...>;
  using join_layers = meta::list<Join<Plus>>;
  using ops = meta::concat<layer::ops_of<Layers>..., meta::list<Plus>>;
  static constexpr void connect(auto& graph) {
    int const x = graph.current;
    layer::connect<Layers...>(graph);
    graph.join(graph.current, x);
    ++graph.leaves;
  }
};

template <class... Layers> struct Path {
  using layers = meta::list<Layers...>;
  using join_layers = meta::list<>;
  using ops = meta::concat<layer::ops_of<Layers>...>;
  static constexpr void connect(auto& graph) { layer::connect<Layers...>(graph); }
};

/// `Branches<Concat, Path<...>, Path<...>>` concatenates the results: channels of images, features of
/// vectors and of each position of sequences; `Branches<Plus, ...>` adds
/// them; `Branches<Times, ...>` multiplies them, where a later result may also be one factor for each channel of the
/// first. `Path<>` passes the input on: `Branches<Times, Path<>, Path<Linear<8>, Sigmoid>>` is a gate.
template <class How, class First, class... Paths> struct Branches {
  using layers = meta::concat<meta::list<First>, meta::list<Path<Paths, Join<How>>...>>;
  using join_layers = meta::list<>;
  using ops = meta::concat<layer::ops_of<First>, meta::concat<layer::ops_of<Paths>, meta::list<How>>...>;
  static constexpr void connect(auto& graph) {
    int const x = graph.current, mask = graph.mask;
    First::connect(graph);
    (add<Paths>(graph, x, mask), ...);
  }

 private:
  template <class P> static constexpr void add(auto& graph, int x, int mask) {
    int const before = graph.current, masked = graph.mask;
    graph.current = x;
    graph.mask = mask;
    P::connect(graph);
    graph.join(before, graph.current);
    graph.mask = graph.joined(mask, masked, graph.mask);
    ++graph.leaves;
  }
};

}  // namespace cleave
