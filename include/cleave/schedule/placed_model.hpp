// schedule/placed_model.hpp - a placed model as the passes of a schedule read it, and the instructions that they give.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../place/place.hpp"
#include "step.hpp"

namespace cleave::schedule {

/// Views a model and its nodes; a plan that is refused has none.
template <int Ops> struct PlacedModel {
  static constexpr int most_nodes = place::Placed<Ops>::most;
  place::Signatures<Ops> const& model;
  place::Placed<Ops> const& placed;
  place::Request const& request;
  int count = placed.count;

  constexpr place::Node const& node(int k) const { return placed.node[k]; }
  constexpr place::Signature const& op(int k) const { return model.op[placed.node[k].op]; }
  constexpr bool is_op(int k) const { return placed.node[k].op >= 0; }
  /// A weight of two operations learns where the first of them is.
  constexpr bool learns(int k) const {
    return op(k).weights > 0 && op(k).leaf >= request.frozen && !op(k).reads_tied();
  }
  /// The node of the operation with which node k shares its weight, -1: none.
  constexpr int tied(int k) const {
    int n = is_op(k) && op(k).tied >= 0 ? 0 : -1;
    while (n >= 0 && node(n).op != op(k).tied) ++n;
    return n;
  }
  /// Of a conversion that moves something none, since what ranks have sent each other is kept; of gathered positions
  /// that of the operation that has them in parts, or one of their own.
  constexpr int segment(int k) const {
    while (k >= 0 && is_alias(k)) k = node(k).in0;
    if (k < 0 || is_op(k)) return k < 0 ? 0 : op(k).segment;
    if (!gathers_positions(k)) return 0;
    int reader = k + 1;  // the first
    while (reader < count && node(reader).in0 != k && node(reader).in1 != k) ++reader;
    int const of_input = segment(node(k).in0);
    bool const within = of_input > 0 && reader < count && is_op(reader) && op(reader).segment == of_input;
    return within ? of_input : own_segment(k);
  }
  static constexpr int own_segment(int gather) { return Ops + 1 + gather; }
  /// Of a segment that is one gather its node, or -1.
  static constexpr int gather_of(int segment) { return segment > Ops ? segment - Ops - 1 : -1; }
  /// A conversion from parts of the positions to all: their parts are kept, and on the way back gathered again.
  constexpr bool gathers_positions(int k) const {
    return request.cuts_positions.any() && !is_op(k) && node(k).conversion.forward == op::Verb::AllGather &&
           node(k).whole.dims == 2 && place::sample_dim(node(k).x) == place::batch + 1;
  }
  /// A conversion that moves nothing: its value is its input's.
  constexpr bool is_alias(int k) const { return !is_op(k) && node(k).conversion.forward == op::Verb::None; }
  constexpr bool has_segments() const { return model.segments || request.cuts_positions.any(); }
  /// Of the value of node k, -1: of the model's input.
  constexpr place::AxisSet batch_axes(int k) const {
    return k < 0 ? place::axes_of(placed.input, place::shard(place::batch)) : node(k).batch_axes;
  }
  constexpr Shape shape(int k) const {
    if (k >= 0) return node(k).local.y;
    return place::algebra::cut(model.op[0].x, placed.input, request.mesh, model.op[0].x_at.beyond_shape());
  }
  constexpr bool has_second(int k) const { return node(k).in1 > -2; }
  constexpr long aux(int k) const { return op(k).aux(node(k).local.x, node(k).local.y); }
};

template <int Ops>
PlacedModel(place::Signatures<Ops> const&, place::Placed<Ops> const&, place::Request const&, int) -> PlacedModel<Ops>;

/// What is computed for a node, before anything is fused and before tensors have memory.
struct Instruction {
  Do what = Do::Forward;
  int node = -1;          // of Add: the value whose gradients are added
  int dx = -1, dx2 = -1;  // gradients, as numbered by differentiate(): written; of Add, dx2 is added to dx
  friend constexpr bool operator==(Instruction, Instruction) = default;
};

}  // namespace cleave::schedule
