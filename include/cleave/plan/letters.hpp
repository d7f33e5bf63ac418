// plan/letters.hpp - the split that the plan, or a layer's option, asks of each operation.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <initializer_list>
#include <type_traits>
#include <utility>

#include "../layer/graph.hpp"
#include "../op/tied.hpp"
#include "../place/axis_set.hpp"
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
concept Convolves = Windowed<Op> && Op::contracts && !requires {
  Op::of_experts;
};
/// Of any number: clang++ allows no more than 256 operands of a fold expression.
constexpr bool any(std::initializer_list<bool> of) {
  return std::any_of(of.begin(), of.end(), [](bool each) { return each; });
}
/// The letter that a split of several axes names on one of them, counted from 0; of another split, `all`.
template <class Policy> constexpr char along(int axis, char all) {
  if constexpr (requires { Policy::split::along; }) {
    return Policy::split::along[axis < Policy::split::axes ? axis : 0];
  } else {
    return all;
  }
}
template <class Policy> constexpr char for_products(int axis) { return along<Policy>(axis, Policy::products); }
template <class Policy> constexpr char for_convolutions(int axis) { return along<Policy>(axis, Policy::convolutions); }
template <class Policy> constexpr char for_experts(int axis) {
  if constexpr (requires { Policy::split::experts_along; }) {
    return Policy::split::experts_along[axis < Policy::split::axes ? axis : 0];
  } else if constexpr (Policy::products == '?') {
    return '?';
  } else if constexpr (requires { typename Policy::split; }) {
    return letter_of_experts<typename Policy::split>();
  } else {  // no split, or OneWeirdTrick
    return Policy::products == '~' ? 'c' : Policy::products;
  }
}
/// Whether its letter is that of experts.
template <class Op> constexpr bool is_of_experts() {
  return requires { Op::of_experts; };
}
/// For how many axes it has a split; 1: one for all.
template <class Policy> constexpr int axes_named() {
  if constexpr (requires { Policy::split::along; }) {
    return Policy::split::axes;
  } else {
    return 1;
  }
}
/// Whether each is a split that a layer can have along one axis.
template <class Policy> constexpr bool names_splits() {
  if constexpr (requires { Policy::split::along; }) {
    return Policy::split::are_splits;
  } else {
    return true;
  }
}
template <class Policy> constexpr bool is_for_axes(int axes) {
  if (!names_splits<Policy>()) return false;
  return axes_named<Policy>() == 1 || axes_named<Policy>() == axes;
}

template <class... Ops> constexpr bool some_convolves(meta::list<Ops...>) { return any({Convolves<Ops>...}); }

/// Whether a split cuts the samples, or may choose to.
constexpr bool may_cut_samples(char letter) { return letter == 'b' || letter == '?'; }

/// The ranks of a replica: of its mesh, or its split; 2 along each axis if neither says it; 1 where nothing is split.
template <class Mesh, class ModelPolicy, bool Splits,
          class Axes = std::make_integer_sequence<int, axes_named<ModelPolicy>()>>
struct sizes_of;
template <class Mesh, class ModelPolicy, bool Splits, int... Axis>
struct sizes_of<Mesh, ModelPolicy, Splits, std::integer_sequence<int, Axis...>> {
  using unsaid = std::conditional_t<Splits, Ways<(Axis * 0 + 2)...>, Ways<1>>;
  using otherwise = std::conditional_t<(ModelPolicy::ways > 0), typename ModelPolicy::sizes, unsaid>;
  using is = std::conditional_t<(Mesh::ways > 0), typename Mesh::sizes, otherwise>;
};

template <int N> struct Letters { char of[N < 1 ? 1 : N]{}; };

/// On one axis, counted from 0. ModelPolicy is the plan's split, for operations whose layer has none and which have a
/// weight of their own.
template <class Net, class ModelPolicy, int Axis = 0, class... Ops, class... Leaves>
constexpr auto letters(meta::list<Ops...>, meta::list<Leaves...>) {
  constexpr int n = sizeof...(Ops);
  constexpr bool convolves[] = {Windowed<Ops>..., false};
  constexpr bool tied[] = {op::tie_of<Ops> == op::Tie::Reads..., false};
  constexpr bool experts[] = {is_of_experts<Ops>()..., false};
  constexpr char said_by[] = {for_products<leaf_policy<Leaves>>(Axis)..., 0},
                 said_of_experts[] = {for_experts<leaf_policy<Leaves>>(Axis)..., 0};
  layer::Graph<n> graph;
  Net::connect(graph);
  Letters<n> out;
  for (int k = 0; k < n; ++k) {
    char const own = said_by[graph.leaf[k]];
    out.of[k] = own != 0       ? (experts[k] ? said_of_experts[graph.leaf[k]] : own)
                : tied[k]      ? (for_products<ModelPolicy>(Axis) == 't' ? 't' : 'W')
                : experts[k]   ? for_experts<ModelPolicy>(Axis)
                : convolves[k] ? for_convolutions<ModelPolicy>(Axis)
                               : for_products<ModelPolicy>(Axis);
  }
  return out;
}

/// Whether a layer asks for this split on an axis; without a letter, for any.
template <class... Leaves> constexpr bool some_layer_says(meta::list<Leaves...>, char letter = 0, int axis = 0) {
  return any({letter == 0 ? leaf_policy<Leaves>::products != 0 : for_products<leaf_policy<Leaves>>(axis) == letter...});
}
/// Whether the plan's split or a layer's is of samples, on any axis.
template <class ModelPolicy, class Sizes, class Leaves> constexpr bool splits_samples() {
  bool some = false;
  for (int axis = 0; axis < Sizes::axes; ++axis) {
    some = some || for_convolutions<ModelPolicy>(axis) == 'b' || may_cut_samples(for_products<ModelPolicy>(axis)) ||
           some_layer_says(Leaves{}, 'b', axis);
  }
  return some;
}
/// Whether the plan or a layer splits products by columns or rows.
template <class ModelPolicy, class Leaves> constexpr bool splits_products() {
  char const of_plan = ModelPolicy::products;
  return of_plan == 'o' || of_plan == 'i' || of_plan == '~' || of_plan == '^' || some_layer_says(Leaves{}, 'o') ||
         some_layer_says(Leaves{}, 'i') || some_layer_says(Leaves{}, '~') || some_layer_says(Leaves{}, '^');
}
/// The axes of more than one rank along which the plan or a layer splits positions.
template <class ModelPolicy, class Sizes, class Leaves> constexpr place::AxisSet axes_of_positions() {
  place::AxisSet out;
  for (int axis = 0; axis < Sizes::axes; ++axis) {
    bool const says = for_products<ModelPolicy>(axis) == 't' || some_layer_says(Leaves{}, 't', axis);
    if (says && Sizes::size[axis] > 1) out.bits |= 1u << (place::data_axis + 1 + axis);
  }
  return out;
}
/// Along which ranks may have parts of the positions; SequenceParallel has one axis.
constexpr place::AxisSet axes_with_positions(place::AxisSet split, bool sequence_parallel) {
  return sequence_parallel ? place::AxisSet{place::data_axis + 1} : split;
}
/// Whether samples are cut on an axis, by the plan's split or a layer's.
template <class ModelPolicy, class Ops, class Leaves> constexpr bool cuts_samples_along(int axis) {
  return (for_convolutions<ModelPolicy>(axis) == 'b' && some_convolves(Ops{})) ||
         may_cut_samples(for_products<ModelPolicy>(axis)) || some_layer_says(Leaves{}, 'b', axis);
}
/// The ranks of all axes on which they are; 1: none.
template <class ModelPolicy, class Sizes, class Ops, class Leaves> constexpr int ways_that_cut_samples() {
  int n = 1;
  for (int axis = 0; axis < Sizes::axes; ++axis)
    n *= cuts_samples_along<ModelPolicy, Ops, Leaves>(axis) && Sizes::size[axis] > 0 ? Sizes::size[axis] : 1;
  return n;
}

}  // namespace cleave::plan
