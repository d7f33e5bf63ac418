// layer/per_position.hpp - layers on each position of a sequence by itself: `PerPosition<LayerNorm, Linear<256>>`.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../op/join.hpp"
#include "../op/per_position.hpp"
#include "../op/weighted_loss.hpp"
#include "graph.hpp"

namespace cleave {

namespace layer {

/// An operation that treats all elements alike is the same on each position.
template <class Op> constexpr bool is_the_same_per_position() {
  return std::string_view(Op::equation) == "b*->b*" || std::is_same_v<Op, op::Multiply>;
}
/// Of the losses those that compare with classes: others are means over all positions already. A running mean is of all
/// positions of a sample, on whatever rank.
template <class Op> constexpr bool sees_one_position() {
  if (Op::is_loss && Op::loss_target != op::Target::Class) return false;
  if (requires { Op::reads_class_sums; }) return true;
  return Op::inputs == 1 && Op::states == 0 && Op::averages == 0 && !Op::sums_batch && !requires { Op::of_sequences; };
}
template <class Op> constexpr auto per_position_() {
  if constexpr (is_the_same_per_position<Op>()) {
    return meta::type<Op>{};
  } else if constexpr (requires { typename Op::unweighted; } && sees_one_position<Op>()) {
    return meta::type<op::SampleWeightedLoss<op::OnEachPosition<typename Op::unweighted>>>{};
  } else if constexpr (sees_one_position<Op>()) {
    return meta::type<op::OnEachPosition<Op>>{};
  } else {
    return meta::type<op::SeesAllPositions<Op>>{};
  }
}
template <class Ops> struct each_per_position_;
template <class... Ops> struct each_per_position_<meta::list<Ops...>> {
  using type = meta::list<typename decltype(per_position_<Ops>())::is...>;
};

}  // namespace layer

/// x (b, T, ...), a sequence of T positions, as b T samples: `PerPosition<LayerNorm, Linear<256>, Gelu, Linear<64>>`
/// has the same weights at every position, y (b, T, 64). At the end of a model, `PerPosition<Linear<65>, CrossEntropy>`
/// compares each position with a class of its own; the loss of a sample is the mean over its positions.
template <class... Layers> struct PerPosition {
  using layers = meta::list<Layers...>;
  using join_layers = meta::list<>;
  using ops = typename layer::each_per_position_<meta::concat<layer::ops_of<Layers>...>>::type;
  static constexpr void connect(auto& graph) { layer::connect<Layers...>(graph); }
};

}  // namespace cleave
