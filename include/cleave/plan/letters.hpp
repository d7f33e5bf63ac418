// plan/letters.hpp - the split that the plan, or a layer's option, asks of each operation.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <initializer_list>

#include "../layer/graph.hpp"
#include "../op/tied.hpp"
#include "find.hpp"
#include "policies.hpp"

namespace cleave::plan {

struct ModelSaysNothing {
  static constexpr char products = 0;
};
template <class Leaf> using leaf_policy = find_in<ModelKind, ModelSaysNothing, layer::policies_of<Leaf>>;

template <class Op>
concept Windowed = requires {
  Op::kernel;
};

template <class Op>
concept Convolves = Windowed<Op> && Op::contracts;
/// Of any number: clang++ allows no more than 256 operands of a fold expression.
constexpr bool any(std::initializer_list<bool> of) {
  return std::any_of(of.begin(), of.end(), [](bool each) { return each; });
}
template <class... Ops> constexpr bool some_convolves(meta::list<Ops...>) { return any({Convolves<Ops>...}); }

/// Whether a split cuts the samples, or may choose to.
constexpr bool may_cut_samples(char letter) { return letter == 'b' || letter == '?'; }

template <int N> struct Letters { char of[N < 1 ? 1 : N]{}; };

/// ModelPolicy is the plan's split, for operations whose layer has none and which have a weight of their own.
template <class Net, class ModelPolicy, class... Ops, class... Leaves>
constexpr auto letters(meta::list<Ops...>, meta::list<Leaves...>) {
  constexpr int n = sizeof...(Ops);
  constexpr bool convolves[] = {Windowed<Ops>..., false};
  constexpr bool tied[] = {op::tie_of<Ops> == op::Tie::Reads..., false};
  constexpr char said_by[] = {leaf_policy<Leaves>::products..., 0};
  layer::Graph<n> graph;
  Net::connect(graph);
  Letters<n> out;
  for (int k = 0; k < n; ++k) {
    char const own = said_by[graph.leaf[k]];
    out.of[k] = own != 0 ? own : tied[k] ? 'W' : convolves[k] ? ModelPolicy::convolutions : ModelPolicy::products;
  }
  return out;
}

/// Whether a layer asks for this split; without a letter, for any.
template <class... Leaves> constexpr bool some_layer_says(meta::list<Leaves...>, char letter = 0) {
  return any({letter == 0 ? leaf_policy<Leaves>::products != 0 : leaf_policy<Leaves>::products == letter...});
}

}  // namespace cleave::plan
