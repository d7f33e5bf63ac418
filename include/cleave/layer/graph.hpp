// layer/graph.hpp - which operation reads whose output: a model's operations in order, each with its one or two inputs.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../meta/list.hpp"

namespace cleave::layer {

/// Operation k reads the outputs of in0[k] and in1[k]; -1 is the model's input, -2 no second input.
template <int N> struct Graph {
  int in0[N]{}, in1[N]{}, leaf[N]{};  // leaf: the number of the layer that the operation came from
  int count = 0, leaves = 0, current = -1;

  constexpr void chain() { join(current, -2); }
  constexpr void join(int first, int second) {
    in0[count] = first;
    in1[count] = second;
    leaf[count] = leaves;
    current = count++;
  }
};

/// A layer that is operations one after the other. Most layers are one line: `struct Relu : Chain<op::Map<...>> {};`
template <class... Ops> struct Chain {
  using ops = meta::list<Ops...>;
  using policies = meta::list<>;
  static constexpr void connect(auto& graph) {
    for (int k = 0; k < ops::size; ++k) graph.chain();
    ++graph.leaves;
  }
};

/// A combinator's layers, flat; a plain layer is its own only leaf.
template <class L> struct leaves_ { using type = meta::list<L>; };
template <class List> struct leaves_of_all;
template <class... Ls> struct leaves_of_all<meta::list<Ls...>> {
  using type = meta::concat<typename leaves_<Ls>::type...>;
};
template <class L>
requires requires { typename L::layers; }
struct leaves_<L> : leaves_of_all<meta::concat<typename L::layers, typename L::join_layers>> {};
template <class L> using leaves = typename leaves_<L>::type;

/// A layer may carry options of its own (Pad, NoBias) and policies of the plan; the plan knows which are which.
struct Option {};

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
