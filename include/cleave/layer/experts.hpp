// layer/experts.hpp - Experts<n, TopExperts<k>, layers...>: each position of a sequence goes through k of n experts.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <type_traits>

#include "../op/experts.hpp"
#include "linear.hpp"
#include "residual.hpp"

namespace cleave {

/// Of Experts: each position goes to k of them; default 2.
template <int> struct TopExperts : layer::Option {};
/// Of Experts: an expert has places for so many percent of the positions that would be even, default 125; positions
/// that find none are dropped.
template <int> struct CapacityPercent : layer::Option {};
/// Of Experts: percent of the load-balancing loss that are part of what gradients are of; default 1. The
/// reported loss does not have them.
template <int> struct LoadBalance : layer::Option {};

namespace layer {

template <int Count, int Top, int Capacity, int Balance, bool Known, bool Taken> struct experts_are_chosen {
  static constexpr bool holds =
      Count >= 2 && Top >= 1 && Top <= Count && Capacity >= 1 && Balance >= 0 && Known && Taken;
  template <bool Holds> struct tell {
    static_assert(
        Count >= 2 && Top >= 1 && Top <= Count,
        "Experts<n, TopExperts<k>, layers...>: each position goes to k of n experts, n is from 2, k from 1 to n");
    static_assert(
        Capacity >= 1 && Balance >= 0,
        "Experts: CapacityPercent<p> is from 1 (125: an expert has places for a quarter more positions than an "
        "even share), LoadBalance<p> from 0");
    static_assert(
        Taken,
        "Experts: its own options are TopExperts, CapacityPercent and LoadBalance, each once; those of a layer, "
        "such as NoBias, are said to that layer");
    static_assert(Known,
                  "Experts: an expert is made of Linear, activations, Dropout, SwiGlu, Branches<Times, ...> and "
                  "Residual; other layers do not see the positions of one expert by themselves");
  };
};

template <class Option, class... Options>
inline constexpr int experts_say = (0 + ... + int{of_one_kind<Option, Options>});
using options_of_experts = meta::list<TopExperts<1>, CapacityPercent<1>, LoadBalance<1>>;
template <class Options> inline constexpr bool experts_take = false;
template <class... Options>
inline constexpr bool experts_take<meta::list<Options...>> = (is_one_of<Options>(options_of_experts{}) && ...) &&
                                                             (... && (experts_say<Options, Options...> == 1));
template <class T> inline constexpr bool is_option = std::is_base_of_v<Option, T>;
template <class T> using list_if_option = std::conditional_t<is_option<T>, meta::list<T>, meta::list<>>;
template <class T> using list_if_layer = std::conditional_t<is_option<T>, meta::list<>, meta::list<T>>;

/// The operation of an expert as that of all of them.
template <int, class Op> struct of_experts_ {
  using type = Op;
  static constexpr bool known =
      std::string_view(Op::equation) == "b*->b*" || std::is_same_v<Op, op::Bias> || std::is_same_v<Op, op::Multiply>;
};
template <int Count, int Out, op::Start How> struct of_experts_<Count, op::Product<Out, How>> {
  using type = op::ProductOfExperts<Out, Count, How>;
  static constexpr bool known = true;
};
template <int Count, class Ops> struct each_of_experts_;
template <int Count, class... Ops> struct each_of_experts_<Count, meta::list<Ops...>> {
  using type = meta::list<typename of_experts_<Count, Ops>::type...>;
  static constexpr bool known = (of_experts_<Count, Ops>::known && ...);
};

/// Of Experts, the layer that chooses; an error of their sizes names it.
template <class Route, class Law> struct Router : Chain<Route> { using law = Law; };

template <int Count, class Options, class Layers> struct experts_of;
template <int Count, class Options, class... Layers> struct experts_of<Count, Options, meta::list<Layers...>> {
 private:
  static constexpr int top = number_in<TopExperts, Options>::or_(2),
                       capacity = number_in<CapacityPercent, Options>::or_(125),
                       balance = number_in<LoadBalance, Options>::or_(1);
  using inner = each_of_experts_<Count, meta::concat<meta::list<>, ops_of<Layers>...>>;
  using chosen =
      experts_are_chosen<Count, top, capacity, balance, inner::known && sizeof...(Layers) != 0, experts_take<Options>>;
  static constexpr bool sound = chosen::holds;
  using route =
      op::ChooseExperts<(sound ? Count : 2), (sound ? top : 1), (sound ? capacity : 100), (sound ? balance : 0)>;

 public:
  using layers =
      meta::list<Router<route, chosen>, Chain<op::DispatchToExperts<route>>, Layers..., Join<op::CombineExperts>>;
  using join_layers = meta::list<>;
  using ops = meta::concat<meta::list<route, op::DispatchToExperts<route>>, typename inner::type,
                           meta::list<op::CombineExperts>>;
  static constexpr void connect(auto& graph) {
    int const x = graph.current;
    graph.chain();
    int const gates = graph.current;
    ++graph.leaves;
    graph.join(x, gates);
    ++graph.leaves;
    layer::connect<Layers...>(graph);
    graph.join(graph.current, gates);
    ++graph.leaves;
  }
};

}  // namespace layer

/// x (b, T, F), a sequence: n experts, each with weights of its own for the layers, of which each position goes through
/// k and adds the results by their weights, y (b, T, outputs of the last layer). A mixture of experts in the place of
/// the dense layers of a transformer's block:
///
///     Residual<PerPosition<LayerNorm>, Experts<8, TopExperts<2>, Linear<256>, Gelu, Linear<64>>>
///
/// op::ChooseExperts says how positions are chosen. Each expert has CapacityPercent * T k / (100 n) places for the
/// positions of a sample, at most T; later positions find none and are dropped: they pass by the experts on the
/// residual's way. `routing_of` (predict/routing.hpp) counts them. Gradients are also those of LoadBalance times a loss
/// that is least where all experts have equal work; it is not in the reported loss.
///
/// By a split of weights (SplitCols, SplitRows, SplitColsRows, SplitGroups) ranks have whole experts, with one sum over
/// ranks in each pass, and the gates' gradients are gathered; by `ModelParallel<SplitExperts>` ranks also have other
/// samples, and two all-to-alls in each pass bring positions to their experts and back. What a position computes
/// depends on no split but for rounding. check_layer wants `LoadBalance<0>`. Source: Lepikhin et al., "GShard", 2020,
/// whose groups are samples here.
template <int Count, class... Words>
struct Experts : layer::experts_of<Count, meta::concat<meta::list<>, layer::list_if_option<Words>...>,
                                   meta::concat<meta::list<>, layer::list_if_layer<Words>...>> {};

}  // namespace cleave
