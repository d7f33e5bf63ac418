// schedule/fuse.hpp - a pass: which instructions are done in the step of another, which steps are linked row by row, and
// the order of those that remain.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "differentiate.hpp"
#include "forward.hpp"

namespace cleave::schedule {

inline constexpr int most_narrow = 128;  // columns of a product, in and out, that is linked to others

template <int Ops> struct Fused {
  static constexpr int most_nodes = PlacedModel<Ops>::most_nodes;
  // Per node.
  int bias[most_nodes]{}, map[most_nodes]{};  // operations (nodes) merged into this one, -1 for none
  int head[most_nodes]{};                     // the node that this one is merged into, or itself
  // The number of element-wise operations after a node that are fused to its forward step, and before it that are fused
  // to the step of its input gradient. `in_tail`: the node is one of those.
  int forward_tail[most_nodes]{}, backward_tail[most_nodes]{};
  bool in_forward_tail[most_nodes]{}, in_backward_tail[most_nodes]{};
  bool adds[most_nodes]{};  // the gradient of its input is first added to that of another reader

  // The instructions that remain: of the forward pass, then of the adjoints.
  int order[most_nodes * 6]{};
  bool linked[most_nodes * 6]{};  // a row depends only on the same row of the instruction before
  int count = 0, forward_count = 0;
};

namespace algebra {

template <int Ops> struct Fusion {
  PlacedModel<Ops> const& m;
  ForwardPass<Ops> const& values;
  Adjoints<Ops> const& adjoints;
  Fused<Ops> out{};
  bool done[PlacedModel<Ops>::most_nodes]{};  // the gradients of its inputs are in the order already

  constexpr int readers(int k) const { return values.readers[k + 1]; }
  constexpr bool all_contribute(int k) const { return adjoints.contributions[k + 1] == readers(k); }
  constexpr Instruction const& instruction(int i) const {
    return i < out.forward_count ? values.at[out.order[i]] : adjoints.at[out.order[i]];
  }

  /// A product with few columns. A device computes all rows of several consecutive ones in one kernel. None of their
  /// tensors overlaps one that another reads: rows are independent.
  constexpr bool narrow(int k) const {
    if (m.request.gathers_weights) return false;  // of which there are two buckets at a time
    if (m.segment(k) > 0) return false;           // which is run again without the layers around it
    if (!m.is_op(k) || !m.op(k).contracts || m.node(k).local.w0.dims != 2 || m.has_second(k)) return false;
    op::Local const& l = m.node(k).local;
    int const in = l.w0[0], of = l.w0[1];
    return in <= most_narrow && of <= most_narrow && l.x.size() == in && l.y.size() == of;
  }
  constexpr bool may_link(Do what, int k, Instruction const& last) const {
    return last.what == what && narrow(last.node) && narrow(k) && m.batch_axes(last.node) == m.batch_axes(k);
  }

  /// Element-wise, from node k - 1 and an earlier value, without weights or state.
  constexpr bool goes_along(int k) const {
    return k > 0 && k < m.count && m.is_op(k) && m.is_op(k - 1) && m.node(k).in0 == k - 1 && m.op(k).pointwise &&
           m.segment(k) == m.segment(k - 1) && !m.op(k).stats_input && m.aux(k) == 0 &&
           m.node(k).batch_axes == m.node(k - 1).batch_axes && m.node(k).local.x == m.node(k).local.y;
  }

  /// A bias, then a map, directly behind a product. Where weights are gathered, the bucket of a table that it reads too
  /// may have the place of the bias.
  constexpr void merge() {
    for (int k = 0; k < m.count; ++k) {
      out.head[k] = k;
      out.bias[k] = out.map[k] = -1;
    }
    for (int k = 0; k < m.count; ++k) {
      if (!m.is_op(k) || !m.op(k).contracts) continue;
      int last = k;
      bool const apart = m.request.gathers_weights && m.op(k).reads_tied();
      if (!apart && merges(last, true)) out.head[++last] = k, out.bias[k] = last;
      if (merges(last, false)) out.head[++last] = k, out.map[k] = last;
    }
  }
  constexpr bool merges(int k, bool bias) const {
    int const next = k + 1;
    return next < m.count && m.is_op(next) && m.node(next).in0 == k && m.node(next).in1 == -2 && m.op(next).mergeable &&
           m.segment(next) == m.segment(k) && readers(k) == 1 && (m.op(next).weights == 1) == bias &&
           (!bias || lies_along_columns(k, next));
  }
  /// Whether the bias `next` has a number for each column of the product before it, which may be k or merged into it.
  constexpr bool lies_along_columns(int k, int next) const {
    place::Signature const &product = m.op(k), &bias = m.op(next);
    return product.w_at.has(product.y_at[bias.x_at.dim(bias.w_at[0])]);
  }

  constexpr void forward() {
    for (int i = 0; i < values.count; ++i) {
      Instruction const& n = values.at[i];
      int const k = n.node;
      if (out.head[k] != k || out.in_forward_tail[k]) continue;
      bool const computes = n.what == Do::Forward && !m.op(k).sums_batch;
      if (computes && out.count > 0) {
        out.linked[out.count] = may_link(Do::Forward, k, values.at[out.order[out.count - 1]]);
      }
      if (computes && !m.op(k).is_loss) follow(k);
      out.order[out.count++] = i;
    }
    out.forward_count = out.count;
  }
  /// The element-wise operations fused to k's step.
  constexpr void follow(int k) {
    int n = k + 1;
    while (n < m.count && out.head[n] == k) ++n;
    for (; n < m.count && out.head[n] == n && goes_along(n); ++n) {
      out.in_forward_tail[n] = true;
      ++out.forward_tail[k];
    }
  }

  constexpr void backward() {
    for (int k = m.count - 1; k >= 0; --k) {
      inputs(k);
      for (int n = k - 1; n >= 0 && done[k] && narrow(k) && follows_back(n, k); --n) inputs(n);
      for (int i = adjoints.weights[k]; i < adjoints.end[k]; ++i) out.order[out.count++] = i;
    }
  }
  constexpr bool last_is_narrow_product(int k) const {
    return out.count > 0 && may_link(Do::BackwardInput, k, instruction(out.count - 1));
  }
  /// The backward pass continues from the small product k to n before any weight gradient: another small product, or a
  /// node without a step between them. (A bias's gradient is also its input's, to which no other reader may then add.)
  constexpr bool follows_back(int n, int k) const {
    if (out.in_backward_tail[n]) return true;
    bool const bias = m.is_op(n) && m.op(n).mergeable && m.op(n).weights > 0 && readers(m.node(n).in0) == 1;
    return (bias || last_is_narrow_product(n)) && m.node(n).in1 == -2 && adjoints.needed(m.node(n).in0) &&
           all_contribute(n) && m.node(n).batch_axes == m.node(k).batch_axes;
  }
  /// The gradients of k's inputs.
  constexpr void inputs(int k) {
    if (done[k] || out.in_backward_tail[k] || !hands_on(k)) return;
    done[k] = true;
    int i = adjoints.first[k];
    Instruction const n = adjoints.at[i];
    if (i < adjoints.weights[k] && n.what == Do::BackwardInput && out.head[k] == k) {
      out.linked[out.count] = last_is_narrow_product(k);
      out.adds[k] = n.dx2 < 0 && m.node(k).in0 >= 0 && adjoints.gradient[m.node(k).in0] != n.dx &&
                    m.batch_axes(m.node(k).in0) == m.batch_axes(k);
      out.order[out.count++] = i++;
      if (n.dx >= 0 && n.dx2 < 0) trail(k);
      if (out.adds[k]) ++i;
    }
    for (; i < adjoints.weights[k]; ++i) out.order[out.count++] = i;
  }
  constexpr bool hands_on(int k) const {
    return adjoints.needed(k) &&
           (adjoints.needed(m.node(k).in0) || (m.is_op(k) && !m.op(k).stats_input && adjoints.needed(m.node(k).in1)));
  }
  /// The element-wise operations fused to the step that computes k's input gradient, if no other reader adds to it.
  constexpr void trail(int k) {
    auto const whole = [&](int i) { return readers(i) == 1 || (i == k - 1 && out.adds[k] && all_contribute(i)); };
    for (int i = k - 1; i >= 0 && m.node(i + 1).in0 == i && whole(i) && goes_along(i); --i) {
      if (m.has_second(i) || !adjoints.needed(m.node(i).in0) || readers(i - 1) != 1) return;
      if (m.node(i).batch_axes != m.node(k).batch_axes || m.segment(i) != m.segment(k)) return;
      out.in_backward_tail[i] = true;
      ++out.backward_tail[k];
    }
  }
};

}  // namespace algebra

template <int Ops>
constexpr Fused<Ops> fuse(PlacedModel<Ops> const& m, ForwardPass<Ops> const& values, Adjoints<Ops> const& adjoints) {
  algebra::Fusion<Ops> pass{m, values, adjoints};
  pass.merge();
  pass.forward();
  pass.backward();
  return pass.out;
}

}  // namespace cleave::schedule
