// schedule/recompute.hpp - a pass: which forward instructions are run again on the way back, and before which adjoint.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "fuse.hpp"

namespace cleave::schedule {

/// A value of a segment (layer/recompute.hpp) is kept if a node outside of it reads it, and what its operation keeps of
/// a sample, if that is no more. A conversion is of no segment, so it is kept, but for gathered positions
/// (PlacedModel): those that are a segment of their own are kept only if a node of another segment reads them, which is
/// run again earlier, if one reads them as its second input, or one whose weight is an earlier operation's, which
/// computes its gradient.
template <int Ops> struct Recomputed {
  static constexpr int most_nodes = PlacedModel<Ops>::most_nodes;
  bool any = false;
  bool runs[most_nodes]{};       // the node's forward instruction is run again
  bool kept[most_nodes]{};       // its value is that of the forward pass
  bool kept_aux[most_nodes]{};   // and what it keeps of a sample
  int before[most_nodes * 6]{};  // of each instruction in order: the segment that is run again before it, 0: none
  int segment[most_nodes]{};     // of each node
};

namespace algebra {

template <int Ops> struct Recomputation {
  PlacedModel<Ops> const& m;
  Adjoints<Ops> const& adjoints;
  Fused<Ops> const& fused;
  Recomputed<Ops> out{};
  int step_of[PlacedModel<Ops>::most_nodes]{};  // the node whose instruction computes a node's value

  constexpr void keep() {
    for (int k = 0; k < m.count; ++k) out.segment[k] = m.segment(k);
    for (int k = 0; k < m.count; ++k) {
      int const in0 = m.node(k).in0;
      step_of[k] = fused.in_forward_tail[k] ? step_of[k - 1] : m.is_alias(k) && in0 >= 0 ? step_of[in0] : fused.head[k];
      out.kept[k] =
          out.segment[k] == 0 || k == m.placed.last || (m.is_op(k) && (m.op(k).sums_batch || m.op(k).is_loss));
      if (!gathered(in0) || out.segment[k] > 0 || (m.is_op(k) && m.op(k).reads_tied())) keep_outside(in0, k);
      keep_outside(m.node(k).in1, k);
    }
    for (int k = m.count - 1; k >= 0; --k) {
      if (same(k) >= 0 && out.kept[k]) out.kept[same(k)] = true;
    }
    for (int k = 0; k < m.count; ++k) {
      if (same(k) >= 0) out.kept[k] = out.kept[same(k)];
      if (m.is_op(k))
        out.kept_aux[k] = out.kept[k] && (out.segment[k] == 0 || m.op(k).is_loss || m.aux(k) <= m.shape(k).size());
    }
  }
  /// The node before whose value k's is: it is merged into that one, or moves nothing.
  constexpr int same(int k) const { return m.is_alias(k) ? m.node(k).in0 : fused.head[k] != k ? k - 1 : -1; }
  /// Positions that are a segment of their own.
  constexpr bool gathered(int k) const { return k >= 0 && m.gather_of(out.segment[k]) >= 0; }
  /// The value of node `in`, if the node that reads it is of another segment.
  constexpr void keep_outside(int in, int reader) {
    if (in >= 0 && out.segment[in] != out.segment[reader]) out.kept[in] = true;
  }
  constexpr void want(int k) {
    if (k >= 0 && !out.kept[k]) out.runs[step_of[k]] = out.any = true;
  }
  constexpr void want_inputs(int k) {
    want(m.node(k).in0);
    if (m.has_second(k)) want(m.node(k).in1);
  }
  /// What the gradients of operation k are computed from.
  constexpr void want_kept(int k) {
    if (m.op(k).reads_x || m.op(k).stats_input) want_inputs(k);
    if (m.op(k).reads_y) want(k);
    if (m.aux(k) > 0 && !out.kept_aux[k]) out.runs[step_of[k]] = out.any = true;
  }
  constexpr void find() {
    for (int i = fused.forward_count; i < fused.count; ++i) {
      Instruction const& n = adjoints.at[fused.order[i]];
      if (n.what != Do::BackwardInput && n.what != Do::BackwardWeight) continue;
      int const tail = n.what == Do::BackwardInput ? fused.backward_tail[n.node] : 0;
      for (int k = n.node; k >= n.node - tail; --k) want_kept(k);
    }
    for (int k = m.count - 1; k >= 0 && out.any; --k) {
      if (!m.is_alias(k) && out.segment[k] > 0 && out.runs[step_of[k]]) want_inputs(k);
    }
  }
  constexpr void order() {
    bool done[Ops + 1 + PlacedModel<Ops>::most_nodes]{};  // of each segment
    for (int i = fused.forward_count; i < fused.count; ++i) {
      Instruction const& n = adjoints.at[fused.order[i]];
      if (n.what != Do::BackwardInput && n.what != Do::BackwardWeight) continue;
      int segment = out.segment[n.node], at = i;
      if (int const in = first_input(n); segment == 0 && gathered(in) && out.runs[step_of[in]]) {
        segment = out.segment[in];
        while (fused.linked[at]) --at;  // which stay together
      }
      if (segment > 0 && !done[segment]) out.before[at] = segment;
      done[segment] = true;
    }
  }
  /// Of all operations whose gradients an instruction computes.
  constexpr int first_input(Instruction const& n) const {
    int const k = n.what == Do::BackwardInput ? n.node - fused.backward_tail[n.node] : n.node;
    return m.op(k).reads_x || m.op(k).stats_input ? m.node(k).in0 : -1;
  }
};

}  // namespace algebra

template <int Ops>
constexpr Recomputed<Ops> recompute(PlacedModel<Ops> const& m, Adjoints<Ops> const& adjoints, Fused<Ops> const& fused) {
  algebra::Recomputation<Ops> pass{m, adjoints, fused};
  if (!m.has_segments()) return pass.out;
  pass.keep();
  pass.find();
  if (pass.out.any) pass.order();
  return pass.out;
}

}  // namespace cleave::schedule
