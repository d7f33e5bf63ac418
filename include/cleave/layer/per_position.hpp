// layer/per_position.hpp - layers on each position of a sequence by itself: `PerPosition<LayerNorm, Linear<256>>`.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../op/join.hpp"
#include "../op/per_position.hpp"
#include "graph.hpp"

namespace cleave {

namespace layer {

/// An operation that treats all elements alike is the same on each position.
template <class Op> constexpr bool is_the_same_per_position() {
  return std::string_view(Op::equation) == "b*->b*" || std::is_same_v<Op, op::Multiply>;
}
template <class Op, bool Same = is_the_same_per_position<Op>()> struct per_position_ {
  using type = op::PerPosition<Op>;
};
template <class Op> struct per_position_<Op, true> { using type = Op; };
template <class Ops> struct each_per_position_;
template <class... Ops> struct each_per_position_<meta::list<Ops...>> {
  using type = meta::list<typename per_position_<Ops>::type...>;
};
template <class Op> constexpr bool sees_one_position() {
  if (is_the_same_per_position<Op>()) return true;
  if (Op::is_loss && Op::loss_target != op::Target::Class) return false;
  return Op::inputs == 1 && Op::states == 0 && !Op::sums_batch && !requires { Op::of_sequences; };
}
template <class Ops> inline constexpr bool all_see_one_position = false;
template <class... Ops>
inline constexpr bool all_see_one_position<meta::list<Ops...>> = (sees_one_position<Ops>() && ...);
template <class Ops, bool = all_see_one_position<Ops>> struct ops_per_position_ : each_per_position_<Ops> {};
template <class Ops> struct ops_per_position_<Ops, false> { using type = meta::list<>; };

}  // namespace layer

/// x (b, T, ...), a sequence of T positions, as b T samples: `PerPosition<LayerNorm, Linear<256>, Gelu, Linear<64>>`
/// has the same weights at every position, y (b, T, 64). At the end of a model, `PerPosition<Linear<65>, CrossEntropy>`
/// compares each position with a class of its own; the loss of a sample is the mean over its positions.
template <class... Layers> class PerPosition {
  using each = meta::concat<layer::ops_of<Layers>...>;
  static_assert(layer::all_see_one_position<each>,
                "PerPosition: its layers see one position alone: no BatchNorm, Branches<Concat, ...> or layer of whole "
                "sequences; of the losses CrossEntropy, since others are means over all positions already");

 public:
  using layers = meta::list<Layers...>;
  using join_layers = meta::list<>;
  using ops = typename layer::ops_per_position_<each>::type;
  static constexpr void connect(auto& graph) { layer::connect<Layers...>(graph); }
};

}  // namespace cleave
