// schedule/buffers.hpp - a pass: the tensors of a step that have memory, in the order in which they are written.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "recompute.hpp"

namespace cleave::schedule {

template <int Ops> struct BufferTable {
  static constexpr int most_nodes = PlacedModel<Ops>::most_nodes, most_buffers = most_nodes * 4 + 4;
  Buffer buffer[most_buffers];
  int buffers = 0;
  // Per node, -1 for none.
  int value[most_nodes]{}, aux[most_nodes]{}, gradient[most_nodes]{};
  int again[most_nodes]{}, aux_again[most_nodes]{};  // value and aux on the way back
  int input_value = -1, input_gradient = -1;
  int of_gradient[most_nodes * 2 + 1]{};  // of each gradient of differentiate()
};

namespace algebra {

template <int Ops> struct BufferAssignment {
  PlacedModel<Ops> const& m;
  ForwardPass<Ops> const& values;
  Adjoints<Ops> const& adjoints;
  Fused<Ops> const& fused;
  Recomputed<Ops> const& recomputed;
  BufferTable<Ops> out{};
  bool back = false;  // values are those of the way back

  constexpr int& of_value(int k) { return back ? out.again[k] : out.value[k]; }
  constexpr int value(int k) const { return k < 0 ? out.input_value : back ? out.again[k] : out.value[k]; }
  constexpr bool is_kept(int k) const { return back && recomputed.kept[k]; }
  constexpr int buffer(int k, long elements, bool per_slice, place::AxisSet cut_by, bool wide, Category c,
                       int takes_over = -1) {
    out.buffer[out.buffers] = {elements, per_slice, cut_by, wide, c, takes_over, k < 0 ? 0 : m.node(k).part};
    return out.buffers++;
  }
  /// In the place of value or gradient k.
  constexpr int tensor(int k, Category c, int takes_over = -1) {
    return buffer(k, m.shape(k).size() * m.request.rows, true, m.batch_axes(k), false, c, takes_over);
  }
  /// A sum over the batch.
  constexpr int sum(int k) { return buffer(k, m.node(k).local.y.size(), false, {}, true, Category::Activations); }

  constexpr void forward() {
    bool tokens = false;  // then of 32 bits
    for (int k = 0; k < m.count; ++k) tokens = tokens || (m.is_op(k) && m.op(k).tokens > 0);
    out.input_value =
        buffer(-1, m.shape(-1).size() * m.request.rows, true, m.batch_axes(-1), tokens, Category::Activations);
    for (int k = 0; k < m.count; ++k) {
      if (fused.in_forward_tail[k]) continue;
      out.value[k] = out.aux[k] = -1;
      if (fused.head[k] != k) {
        out.value[k] = out.value[fused.head[k]];
      } else if (!m.is_op(k)) {
        bool const moves = m.node(k).conversion.forward != op::Verb::None;
        out.value[k] = moves ? tensor(k, Category::Communication) : value(m.node(k).in0);
      } else {
        operation(k);
      }
    }
  }
  constexpr void operation(int k) {
    place::Signature const& s = m.op(k);
    if (s.sums_batch) {
      out.value[k] = sum(k);
      return;
    }
    if (!s.is_loss && !is_kept(k))
      of_value(k) = tensor(k, Category::Activations, s.elementwise ? value(m.node(k).in0) : -1);
    if (long const aux = m.aux(k); aux > 0 && !(back && recomputed.kept_aux[k])) {
      (back ? out.aux_again : out.aux)[k] =
          buffer(k, aux * m.request.rows, true, m.batch_axes(k), true, Category::Activations);
    }
    if (fused.forward_tail[k] > 0) follow(k);
  }
  /// The buffers of fused operations are born in one step, so that none of them overlaps what the step reads; an
  /// operation may take its input's place.
  constexpr void follow(int k) {
    int n = k + 1;
    for (; fused.head[n] == k; ++n) of_value(n) = value(k);
    for (int const end = n + fused.forward_tail[k]; n < end; ++n) {
      for (int i = k; m.has_second(n) && i < n; ++i) {  // what is read here stays until then
        int& from = out.buffer[value(i)].takes_over;
        if (from == value(m.node(n).in1)) from = -1;
      }
      bool const alone = values.readers[n] == 1;
      if (!is_kept(n)) of_value(n) = tensor(n, Category::Activations, alone ? value(n - 1) : -1);
      if (!back) out.aux[n] = -1;
    }
  }

  /// In the order of their steps, as all buffers.
  constexpr void segment_again(int segment) {
    if (int const k = m.gather_of(segment); k >= 0) return gather(k);
    for (int k = 0; k < m.count; ++k) {
      if (recomputed.segment[k] != segment || fused.in_forward_tail[k]) continue;
      if (m.is_alias(k)) {
        of_value(k) = value(m.node(k).in0);
      } else if (fused.head[k] != k) {
        of_value(k) = value(fused.head[k]);
      } else if (recomputed.runs[k]) {
        m.is_op(k) ? operation(k) : gather(k);
      }
    }
  }
  constexpr void gather(int k) { of_value(k) = tensor(k, Category::Communication); }
  constexpr int& of(int gradient) { return out.of_gradient[gradient]; }
  constexpr void backward() {
    for (int k = 0; k < m.count && recomputed.any; ++k) {
      out.again[k] = out.value[k];
      out.aux_again[k] = out.aux[k];
    }
    back = recomputed.any;
    for (int i = fused.forward_count; i < fused.count; ++i) {
      if (recomputed.before[i] > 0) segment_again(recomputed.before[i]);
      Instruction const& n = adjoints.at[fused.order[i]];
      int const k = n.node;
      if (n.what == Do::ConvertBack) of(n.dx) = tensor(adjoints.of[n.dx], Category::Communication);
      if (n.what == Do::BackwardWeight && n.dx >= 0) of(n.dx) = sum(adjoints.of[n.dx]);
      if (n.what != Do::BackwardInput) continue;
      place::Signature const& s = m.op(k);
      bool const in_place = s.elementwise && s.weights == 0 && !m.has_second(k);
      if (n.dx >= 0) made(k, n.dx, in_place);
      if (n.dx2 >= 0) of(n.dx2) = tensor(adjoints.of[n.dx2], Category::Activations);
      for (int j = k - 1; j >= k - fused.backward_tail[k]; --j) {
        made(j, adjoints.at[adjoints.first[j]].dx, true);
      }
    }
    for (int k = 0; k < m.count && recomputed.any; ++k) {
      if (m.is_alias(k) && m.gather_of(recomputed.segment[k]) >= 0) out.again[k] = out.again[m.node(k).in0];
    }
    auto const buffer_of = [&](int gradient) { return gradient < 0 ? -1 : of(gradient); };
    for (int k = 0; k < m.count; ++k) out.gradient[k] = buffer_of(adjoints.gradient[k]);
    out.input_gradient = buffer_of(adjoints.input_gradient);
  }
  /// The gradient dx of k's input. A merged map's takes the place of its output's.
  constexpr void made(int k, int dx, bool in_place) {
    int const from = adjoints.gradient[k] < 0 ? -1 : of(adjoints.gradient[k]);
    bool const merged = fused.head[k] != k;
    of(dx) = merged ? from : tensor(adjoints.of[dx], Category::Activations, in_place ? from : -1);
  }
};

}  // namespace algebra

template <int Ops>
constexpr BufferTable<Ops> assign_buffers(PlacedModel<Ops> const& m, ForwardPass<Ops> const& values,
                                          Adjoints<Ops> const& adjoints, Fused<Ops> const& fused,
                                          Recomputed<Ops> const& recomputed) {
  algebra::BufferAssignment<Ops> pass{m, values, adjoints, fused, recomputed};
  if (m.count > 0) pass.forward();
  pass.backward();
  return pass.out;
}

}  // namespace cleave::schedule
