// predict/routing.hpp - routing_of<Net>: how many positions each expert takes, and how many are dropped.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <span>
#include <string>
#include <vector>

#include "../layer/experts.hpp"
#include "../layer/input.hpp"
#include "../layer/loss.hpp"
#include "predictor.hpp"

namespace cleave {

/// Of the Experts of a model, in samples.
struct Routing {
  long positions = 0, choices = 0;  // of so many experts; choices: k for each position
  long dropped = 0;                 // choices whose expert had no place
  std::vector<long> taken;          // by each expert
  /// Of all choices.
  double dropped_share() const { return choices > 0 ? static_cast<double>(dropped) / static_cast<double>(choices) : 0; }
};

namespace session {

template <class Op> inline constexpr int chosen_by = 0;
template <int Experts, int Chosen, int Percent, int Balance>
inline constexpr int chosen_by<op::ChooseExperts<Experts, Chosen, Percent, Balance>> = Chosen;

template <class List, int N> struct first_of;
template <class... Ts, int N> struct first_of<meta::list<Ts...>, N> {
  template <int... I>
  static meta::list<meta::at<meta::list<Ts...>, static_cast<std::size_t>(I)>...> take(std::integer_sequence<int, I...>);
  using type = decltype(take(std::make_integer_sequence<int, N>{}));
};

/// Net up to the gates of its `Nth` Experts, whose outputs these are.
template <class Net, int Nth = 0> struct Gates {
 private:
  template <class... Ops> static constexpr int find(meta::list<Ops...>) {
    int k = 0, at = -1, seen = 0;
    ((at = chosen_by<Ops> > 0 && seen++ == Nth ? k : at, ++k), ...);
    return at;
  }
  static constexpr int route = find(typename Net::ops{}), count = static_cast<int>(Net::ops::size);
  static_assert(route >= 0, "routing_of<Net, n>: the model has no Experts of this number, counted from 0");
  static constexpr int before = route < 0 ? 0 : route;
  static constexpr auto whole() {
    layer::Graph<count> graph;
    Net::connect(graph);
    return graph;
  }
  static constexpr int leaves = whole().leaf[before] + 1;

 public:
  using part_of = Net;
  using router = meta::at<typename Net::ops, static_cast<std::size_t>(before)>;
  using input = typename Net::input;
  using layers = meta::concat<typename first_of<layer::leaves<Net>, leaves>::type, meta::list<MeanSquaredError>>;
  using join_layers = meta::list<>;
  using ops = meta::concat<typename first_of<typename Net::ops, before + 1>::type, layer::ops_of<MeanSquaredError>>;
  static constexpr void connect(auto& graph) {
    auto const from = whole();
    for (int k = 0; k <= before; ++k) {
      graph.leaves = from.leaf[k];
      graph.join(from.in0[k], from.in1[k]);
    }
    graph.leaves = leaves;
    MeanSquaredError::connect(graph);
  }
};

template <class Gates> Routing routing_by(Predictor<Gates, f32>& gates, std::span<float const> x) {
  constexpr auto experts = static_cast<std::size_t>(Gates::router::output(Shape(1, 1))[1]);
  std::vector<float> const y = gates(x);
  Routing out;
  out.taken.resize(experts);
  out.positions = static_cast<long>(y.size() / experts);
  out.choices = out.positions * chosen_by<typename Gates::router>;
  out.dropped = out.choices;
  for (std::size_t i = 0; i < y.size(); ++i) {
    if (y[i] == 0) continue;
    ++out.taken[i % experts];
    --out.dropped;
  }
  return out;
}

}  // namespace session

/// How the `Nth` Experts of a model, counted from 0, send the positions of samples x (n, inputs), with the weights of a
/// checkpoint: `routing_of<Net>("out/mine/checkpoint.safetensors", x).dropped`. Throws Error as a Predictor does.
template <class Net, int Nth = 0> Routing routing_of(std::string const& file, std::span<float const> x) {
  Predictor<session::Gates<Net, Nth>, f32> gates(file);
  return session::routing_by(gates, x);
}
/// The same, with the weights that a trainer has now.
template <int Nth = 0, class Trained>
requires requires { typename Trained::plan; }
Routing routing_of(Trained& trainer, std::span<float const> x) {
  Predictor<session::Gates<typename Trained::plan::Net, Nth>, f32> gates(trainer);
  return session::routing_by(gates, x);
}

}  // namespace cleave
