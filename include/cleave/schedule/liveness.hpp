// schedule/liveness.hpp - a pass: from which step to which each tensor lives, by what the steps read and write.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "schedule.hpp"

namespace cleave::schedule {

enum class Access : unsigned char { Read, Write };

/// The buffers that a step reads and writes, with the operations that are fused to it. -1 stands for none.
template <int Ops> struct Accesses {
  PlacedModel<Ops> const& m;
  Schedule const& s;
  bool back = false;  // values are those of the way back

  constexpr place::Node const& node(int k) const { return m.node(k); }
  constexpr int value(int k) const { return k < 0 ? s.input_value : back ? s.again[k] : s.value[k]; }
  constexpr int aux(int k) const { return back ? s.aux_again[k] : s.aux[k]; }
  constexpr int gradient(int k) const { return k < 0 ? s.input_gradient : s.gradient[k]; }

  template <class Visit> constexpr void inputs(int k, Visit visit) const {
    visit(value(node(k).in0), Access::Read);
    if (node(k).in1 > -2) visit(value(node(k).in1), Access::Read);
  }
  template <class Visit> constexpr void forward(int k, Visit visit) const {
    inputs(k, visit);
    visit(aux(k), Access::Write);
    visit(value(k), Access::Write);
    for (int i = 0; i < s.forward_tail[k]; ++i) {
      int const n = s.behind(k, false, i);
      inputs(n, visit);
      visit(value(n), Access::Write);
    }
  }
  /// What the gradients of an operation are computed from.
  template <class Visit> constexpr void kept(int k, Visit visit) const {
    place::Signature const& op = m.op(k);
    visit(s.gradient[k], Access::Read);
    visit(aux(k), Access::Read);
    if (op.reads_x) visit(value(node(k).in0), Access::Read);
    if (op.reads_y) visit(value(k), Access::Read);
    if (node(k).in1 > -2 && (op.reads_x || op.stats_input)) visit(value(node(k).in1), Access::Read);
  }
  template <class Visit> constexpr void backward_input(int k, Step step, Visit visit) const {
    kept(k, visit);
    visit(step.dx, Access::Write);
    visit(step.dx2, Access::Write);
    if (s.adds[k]) visit(gradient(node(k).in0), Access::Read);
    for (int n = k - 1; n >= k - s.backward_tail[k]; --n) {
      visit(s.gradient[n], Access::Read);
      if (m.op(n).reads_x) visit(value(node(n).in0), Access::Read);
      if (m.op(n).reads_y) visit(value(n), Access::Read);
      visit(gradient(node(n).in0), Access::Write);
    }
  }

  /// visit(buffer, access) for each of step k.
  template <class Visit> constexpr void each(int k, Visit visit) const {
    Step const step = s.step[k];
    int const n = step.node;
    auto const writes = [&] {
      visit(step.dx, Access::Write);
      visit(step.dx2, Access::Write);
    };
    switch (step.what) {
      case Do::Forward:
        return forward(n, visit);
      case Do::Convert:
        visit(value(node(n).in0), Access::Read);
        return writes();
      case Do::BackwardInput:
        return backward_input(n, step, visit);
      case Do::BackwardWeight:
        kept(n, visit);
        if (int const reader = m.tied(n); reader >= 0) {
          visit(value(node(reader).in0), Access::Read);
          visit(s.gradient[reader], Access::Read);
        }
        return writes();
      case Do::ConvertBack:
        visit(s.gradient[n], Access::Read);
        return writes();
      case Do::Add:
        visit(step.dx2, Access::Read);
        return visit(step.dx, Access::Write);
      case Do::Sum:
      case Do::SumBack:
        return writes();
      default:
        return;
    }
  }
};

template <int Ops> struct Lives { Life of[BufferTable<Ops>::most_buffers]; };

/// A tensor is born in the first step that writes it, in linked steps with the first of them, and dies after the last
/// that reads or writes it. The model's input is there before the first step.
template <int Ops> constexpr Lives<Ops> liveness(PlacedModel<Ops> const& m, Schedule const& s) {
  Lives<Ops> out;
  if (m.count == 0) return out;
  bool seen[BufferTable<Ops>::most_buffers]{};
  seen[s.input_value] = true;
  int first_linked = 0;
  for (int k = 0; k < s.steps; ++k) {
    if (!s.step[k].linked) first_linked = k;
    Accesses<Ops> const accesses{m, s, k >= s.forward_steps};
    accesses.each(k, [&](int buffer, Access) {
      if (buffer < 0) return;
      Life& life = out.of[buffer];
      if (!seen[buffer]) {
        seen[buffer] = true;
        life.birth = first_linked;
        life.written = k;
      }
      life.death = k;
    });
  }
  for (int k = 0; k < m.count; ++k) {
    if (!m.node(k).is_send()) continue;
    Life& sent = out.of[Accesses<Ops>{m, s}.value(m.node(k).in0)];  // until the other stage's gradient has come
    sent.sent = true;
    if (sent.death < s.forward_steps) sent.death = s.forward_steps;
    if (s.gradient[k] >= 0) out.of[s.gradient[k]] = {0, s.steps, -1, true};
  }
  int const output = Accesses<Ops>{m, s}.value(m.placed.last);  // read between the passes, for the accuracy
  if (output >= 0 && out.of[output].death < s.forward_steps) out.of[output].death = s.forward_steps;
  return out;
}

}  // namespace cleave::schedule
