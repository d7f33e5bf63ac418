// layer/graph.hpp - a model's operations in order, and which outputs each of them reads.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <initializer_list>
#include <type_traits>

#include "../meta/law.hpp"
#include "../meta/list.hpp"
#include "../tensor/shape.hpp"
#include "laws.hpp"

namespace cleave::layer {

/// The stage of a pipeline on which an operation is to be (layer/pin.hpp); -1: any.
struct StageWish {
  int stage = -1;
  bool pinned = false;  // else it is preferred
  friend constexpr bool operator==(StageWish, StageWish) = default;
};

/// Operation k reads the outputs of in0[k] and in1[k]; -1 is the model's input, -2 no second input.
template <int N> struct Graph {
  static constexpr int no_mask = -3, two_masks = -4;
  int in0[N]{}, in1[N]{}, leaf[N]{};  // leaf: the number of the operation's layer
  int count = 0, leaves = 0, current = -1;
  int mask = no_mask;  // the output that says which positions are padding
  int segment[N]{};    // that are computed again on the way back, counted from 1; 0: the output is kept
  StageWish wish[N]{};

  /// The mask behind paths that had `before` and end with a and b; one that only one of them has changed is of both.
  static constexpr int joined(int before, int a, int b) {
    return a == b || b == before ? a : a == before ? b : two_masks;
  }
  /// All operations from this one on, whatever segments they are of already.
  constexpr void recompute_from(int first) {
    for (int k = first; k < count; ++k) segment[k] = first + 1;
  }
  /// All operations from this one on that have none yet.
  constexpr void place_from(int first, StageWish on) {
    for (int k = first; k < count; ++k) wish[k] = wish[k].stage < 0 ? on : wish[k];
  }
  constexpr void chain() { join(current, -2); }
  constexpr void join(int first, int second) {
    in0[count] = first;
    in1[count] = second;
    leaf[count] = leaves;
    current = count++;
  }
};

/// Layers in order, of any number: clang++ allows no more than 256 operands of a fold expression.
template <class... Layers> constexpr void connect(auto& graph) {
  static_cast<void>(std::initializer_list<int>{(Layers::connect(graph), 0)...});
}

/// A layer of operations one after the other. Most layers are one line: `struct Relu : Chain<op::Map<...>> {};`
template <class... Ops> struct Chain {
  using ops = meta::list<Ops...>;
  using policies = meta::list<>;
  static constexpr void connect(auto& graph) {
    (link<Ops>(graph), ...);
    ++graph.leaves;
  }

 private:
  template <class Op> static constexpr void link(auto& graph) {
    if constexpr (requires { Op::takes_mask; }) {
      graph.join(graph.current, graph.mask);
    } else {
      graph.chain();
    }
  }
};

/// A class that is no layer has no operations and no options; the plan reports it.
template <class L>
concept Layer = requires {
  typename L::ops;
  requires requires { typename L::policies; } || requires {
    typename L::layers;
  };
};
template <class L> struct of_layer {
  using ops = meta::list<>;
  using policies = meta::list<>;
};
template <Layer L> struct of_layer<L> {
  using ops = typename L::ops;
  using policies = meta::list<>;
};
template <Layer L>
requires requires { typename L::policies; }
struct of_layer<L> {
  using ops = typename L::ops;
  using policies = typename L::policies;
};
template <class L> using ops_of = typename of_layer<L>::ops;
template <class L> using policies_of = typename of_layer<L>::policies;

/// A combinator's layers, flat; a plain layer is its only leaf.
template <class L> struct leaves_ { using type = meta::list<L>; };
template <class List> struct leaves_of_all { using type = meta::list<>; };
template <class... Ls> struct leaves_of_all<meta::list<Ls...>> {
  using type = meta::concat<typename leaves_<Ls>::type...>;
};
template <class L>
requires requires { typename L::layers; }
struct leaves_<L> : leaves_of_all<meta::concat<typename L::layers, typename L::join_layers>> {};
template <class L> using leaves = typename leaves_<L>::type;

/// A layer may have layer options (Pad, NoBias) and policies of the plan; the plan distinguishes them.
struct Option {};

template <class Net>
concept Model = requires {
  typename Net::input;
  typename Net::layers;
};
template <class Net> struct input_of_ { using type = void; };
template <Model Net> struct input_of_<Net> { using type = typename Net::input; };
template <class Net> using input_of = typename input_of_<Net>::type;
template <class Input> inline constexpr bool is_input = requires { Shape{Input::shape}; };

/// A layer (an input too) may have a `law` of its sizes, and a list `takes` of the options that it supports, in which a
/// number stands for any. Without the list it takes every option.
template <class L> struct law_of_ { using type = meta::lawful; };
template <class L>
requires requires { typename L::law; }
struct law_of_<L> {
  using type = typename L::law;
};
template <class L> using law_of = typename law_of_<L>::type;

template <class A, class B> inline constexpr bool of_one_kind = std::is_same_v<A, B>;
template <template <int> class Tag, int N, int M> inline constexpr bool of_one_kind<Tag<N>, Tag<M>> = true;

template <class L, class Option> inline constexpr bool takes = true;
template <class Option, class... Known> constexpr bool is_one_of(meta::list<Known...>) {
  return (of_one_kind<Option, Known> || ...);
}
template <class L, class Option>
requires requires { typename L::takes; }
inline constexpr bool takes<L, Option> = is_one_of<Option>(typename L::takes{});

/// The number in the first Tag<n> among the options.
template <template <int> class Tag, class List> struct number_in;
template <template <int> class Tag> struct number_in<Tag, meta::list<>> {
  static constexpr int or_(int otherwise) { return otherwise; }
};
template <template <int> class Tag, class P, class... Ps>
struct number_in<Tag, meta::list<P, Ps...>> : number_in<Tag, meta::list<Ps...>> {};
template <template <int> class Tag, int N, class... Ps> struct number_in<Tag, meta::list<Tag<N>, Ps...>> {
  static constexpr int or_(int) { return N; }
};

}  // namespace cleave::layer
