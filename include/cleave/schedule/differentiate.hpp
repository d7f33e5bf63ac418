// schedule/differentiate.hpp - a pass: the adjoint of every instruction, in reverse, and the sums of gradients of values
// that are read more than once.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "placed_model.hpp"

namespace cleave::schedule {

template <int Ops> struct Adjoints {
  static constexpr int most_nodes = PlacedModel<Ops>::most_nodes;
  Instruction at[most_nodes * 5];
  int count = 0;
  // The adjoint of node k: first the gradients of its inputs, then from `weights` on those of its weights, to `end`.
  int first[most_nodes]{}, weights[most_nodes]{}, end[most_nodes]{};
  int gradients = 0;
  int of[most_nodes * 2 + 1]{};         // of each gradient the node whose value it is of, -1: the model's input
  int gradient[most_nodes]{};           // the number of a value's gradient, -1 if it has none
  int input_gradient = -1;              // of the model's input
  int contributions[most_nodes + 1]{};  // how many readers add to the gradient of node k - 1; [0] is the input
  bool needs[most_nodes + 1]{};         // the gradient of the value of node k - 1 is computed

  constexpr int gradient_of(int k) const { return k < 0 ? input_gradient : gradient[k]; }
  constexpr bool needed(int k) const { return k > -2 && needs[k + 1]; }
};

namespace algebra {

template <int Ops> struct Differentiation {
  PlacedModel<Ops> const& m;
  Adjoints<Ops> out{};

  constexpr int& gradient(int k) { return k < 0 ? out.input_gradient : out.gradient[k]; }
  constexpr void emit(Do what, int k, int dx = -1, int dx2 = -1) { out.at[out.count++] = {what, k, dx, dx2}; }
  constexpr int number(int k) {
    out.of[out.gradients] = k;
    return out.gradients++;
  }
  /// Where a reader of value k writes its contribution: the first is the gradient itself.
  constexpr int contribution(int k) {
    int const dx = number(k);
    pass(k, dx);
    return dx;
  }
  /// Its gradient is this one, if it has none yet.
  constexpr void pass(int k, int dx) {
    ++out.contributions[k + 1];
    if (gradient(k) < 0) gradient(k) = dx;
  }
  constexpr void add(int k, int dx) {
    if (dx >= 0 && gradient(k) != dx) emit(Do::Add, k, gradient(k), dx);
  }
  constexpr void pass_and_add(int k, int dx) {
    pass(k, dx);
    add(k, dx);
  }

  constexpr void mark_needed() {
    out.needs[0] = m.request.input_gradient;
    for (int k = 0; k < m.count; ++k) {
      out.gradient[k] = -1;
      bool const passes = !m.is_op(k) || m.op(k).has_gradient;
      out.needs[k + 1] =
          passes && ((m.is_op(k) && m.learns(k)) || out.needed(m.node(k).in0) || out.needed(m.node(k).in1));
      if (m.is_op(k) && m.learns(k) && m.op(k).weights_after_input) out.needs[m.node(k).in0 + 1] = true;
    }
  }
  constexpr void convert(int k) {
    int const in0 = m.node(k).in0;
    if (!out.needed(in0)) return;
    if (m.node(k).conversion.backward == op::Verb::None) return pass_and_add(in0, out.gradient[k]);
    int const dx = contribution(in0);
    emit(Do::ConvertBack, k, dx);
    add(in0, dx);
  }
  constexpr void inputs(int k) {
    place::Signature const& s = m.op(k);
    int const in0 = m.node(k).in0, in1 = m.node(k).in1;
    bool const first = out.needed(in0), second = !s.stats_input && out.needed(in1);
    if (!first && !second) return;
    // A bias passes its gradient on unchanged.
    if (s.mergeable && s.weights > 0) return pass_and_add(in0, out.gradient[k]);
    int const dx = first ? contribution(in0) : -1;
    int const dx2 = second ? contribution(in1) : -1;
    emit(Do::BackwardInput, k, dx, dx2);
    if (first) add(in0, dx);
    if (second) add(in1, dx2);
  }
  /// After the gradient of the input, which needs the old weights.
  constexpr void weights(int k) {
    if (!m.learns(k)) return;
    if (!m.op(k).stats_input) return emit(Do::BackwardWeight, k);
    int const in1 = m.node(k).in1;
    out.gradient[in1] = number(in1);
    emit(Do::BackwardWeight, k, out.gradient[in1]);
    emit(Do::SumBack, in1, out.gradient[in1]);
  }
};

}  // namespace algebra

template <int Ops> constexpr Adjoints<Ops> differentiate(PlacedModel<Ops> const& m) {
  algebra::Differentiation<Ops> pass{m};
  if (m.request.infers) {
    for (int k = 0; k < m.count; ++k) pass.out.gradient[k] = -1;
    return pass.out;
  }
  pass.mark_needed();
  for (int k = m.count - 1; k >= 0; --k) {
    pass.out.first[k] = pass.out.count;
    bool const needed = pass.out.needed(k);
    if (needed && m.is_op(k)) pass.inputs(k);
    if (needed && !m.is_op(k)) pass.convert(k);
    pass.out.weights[k] = pass.out.count;
    if (needed && m.is_op(k)) pass.weights(k);
    pass.out.end[k] = pass.out.count;
  }
  return pass.out;
}

}  // namespace cleave::schedule
