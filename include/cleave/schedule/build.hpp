// schedule/build.hpp - from a placed model to its schedule: ordered steps, weights in buckets, tensors with lifetimes.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "draft.hpp"
#include "liveness.hpp"

namespace cleave::schedule {

template <int Ops> struct Builder : Draft<Ops> {
  using Base = Draft<Ops>;
  using Base::heard;
  using Base::is_op;
  using Base::model;
  using Base::needs;
  using Base::node;
  using Base::op;
  using Base::out;
  using Base::placed;
  using Base::readers;
  using Base::request;
  using Base::rows_cut;
  bool handed_on[Schedule<Ops>::most_nodes]{};  // the gradient of its output is passed to its inputs

  constexpr int& gradient(int k) { return k < 0 ? out.input_gradient : out.gradient[k]; }
  constexpr int value(int k) const { return k < 0 ? out.input_value : out.value[k]; }

  constexpr int buffer(long elements, bool per_slice, bool rows, bool wide, Category c, int takes_over = -1) {
    out.buffer[out.buffers] = {elements, per_slice, rows, wide, c};
    out.buffer[out.buffers].takes_over = takes_over;
    return out.buffers++;
  }
  constexpr void emit(Do what, int k, int dx = -1, int dx2 = -1) { out.step[out.steps++] = {what, k, dx, dx2}; }

  constexpr long elements(Shape s) const { return s.size() * request.rows; }

  /// A product with few columns. A device computes all rows of several consecutive ones in one kernel. None of their
  /// tensors overlaps one that another reads: rows are independent.
  constexpr bool narrow(int k) const {
    if (!is_op(k) || !op(k).contracts || node(k).local.w0.dims != 2 || node(k).in1 > -2) return false;
    int const in = node(k).local.w0[0], of = node(k).local.w0[1];
    return in <= most_narrow && of <= most_narrow && node(k).local.x.size() == in && node(k).local.y.size() == of;
  }
  constexpr bool may_link(Do what, int k) const {
    if (out.steps == 0) return false;
    Step const last = out.step[out.steps - 1];
    return last.what == what && narrow(last.node) && narrow(k) && rows_cut(last.node) == rows_cut(k);
  }

  /// Element-wise, from node k - 1 and an earlier value, without weights or state.
  constexpr bool goes_along(int k) const {
    return k > 0 && k < placed.count && is_op(k) && is_op(k - 1) && node(k).in0 == k - 1 && op(k).pointwise &&
           !op(k).stats_input && op(k).aux(node(k).local.x, node(k).local.y) == 0 &&
           node(k).rows_cut == node(k - 1).rows_cut && node(k).local.x == node(k).local.y;
  }
  /// The element-wise operations fused to k's step. Its buffers are born in that step, so that none of them overlaps
  /// what the step reads; an operation may take its input's place.
  constexpr void follow(int k) {
    int last = k;
    for (; last + 1 < placed.count && out.head[last + 1] == k; ++last) out.value[last + 1] = out.value[k];
    for (int n = last + 1; n < placed.count && out.head[n] == n && goes_along(n) && !op(k).sums_batch; ++n) {
      if (node(n).in1 > -2) {
        for (int m = k; m < n; ++m) {  // what is read here stays until then
          int& from = out.buffer[out.value[m]].takes_over;
          if (from == value(node(n).in1)) from = -1;
        }
      }
      out.value[n] = buffer(elements(node(n).local.y), true, rows_cut(n), false, Category::Activations,
                            readers[n] == 1 ? value(n - 1) : -1);
      out.in_forward_tail[n] = true;
      ++out.forward_tail[k];
    }
  }

  constexpr void forward() {
    out.input_value = buffer(elements(placed_input()), true, rows_cut(-1), false, Category::Activations);
    for (int k = 0; k < placed.count; ++k) {
      if (out.head[k] != k) {  // already part of its head's step
        out.value[k] = out.value[out.head[k]];
        continue;
      }
      if (out.in_forward_tail[k]) continue;
      if (!is_op(k)) {
        if (node(k).conversion.forward == op::Verb::None) {
          out.value[k] = value(node(k).in0);
          continue;
        }
        out.value[k] = buffer(elements(node(k).local.y), true, rows_cut(k), false, Category::Communication);
        emit(Do::Convert, k, out.value[k]);
        continue;
      }
      place::Signature const& s = op(k);
      bool const to_last = may_link(Do::Forward, k);
      if (s.sums_batch) {
        out.value[k] = buffer(node(k).local.y.size(), false, false, true, Category::Activations);
        emit(Do::Forward, k, out.value[k]);
        emit(Do::Sum, k, out.value[k]);
        continue;
      }
      if (!s.is_loss) {
        int const from = s.elementwise ? value(node(k).in0) : -1;
        out.value[k] = buffer(elements(node(k).local.y), true, rows_cut(k), false, Category::Activations, from);
      }
      long const aux = s.aux(node(k).local.x, node(k).local.y);
      if (aux > 0) out.aux[k] = buffer(aux * request.rows, true, rows_cut(k), true, Category::Activations);
      if (!s.is_loss) follow(k);
      emit(Do::Forward, k, out.value[k]);
      out.step[out.steps - 1].linked = to_last;
    }
    out.forward_steps = out.steps;
  }
  constexpr Shape placed_input() const {
    Shape const x = model.op[0].x;
    return place::algebra::cut(x, placed.input, place::mesh_of(request), model.op[0].x_at.beyond_shape());
  }

  /// Where a reader of value k writes that value's gradient: the first creates it, a later one writes beside it.
  constexpr int target(int k, int takes_over = -1) {
    Shape const shape = k < 0 ? placed_input() : node(k).local.y;
    int const b = buffer(elements(shape), true, rows_cut(k), false, Category::Activations, takes_over);
    if (gradient(k) < 0) gradient(k) = b;
    ++heard[k + 1];
    return b;
  }
  constexpr void add(int k, int contribution) {
    if (contribution < 0 || gradient(k) == contribution) return;
    emit(Do::Add, k, gradient(k), contribution);
  }
  constexpr void inherit(int k, int contribution) {
    ++heard[k + 1];
    gradient(k) = contribution;
  }
  constexpr void alias(int k, int contribution) {
    if (gradient(k) < 0) return inherit(k, contribution);
    ++heard[k + 1];
    add(k, contribution);
  }

  constexpr void hand_on(int k) {
    int const in0 = node(k).in0, in1 = node(k).in1;
    bool const first = needs(in0), second = in1 > -2 && !op(k).stats_input && needs(in1);
    if (!(first || second) || out.in_backward_tail[k] || handed_on[k]) return;
    bool const to_last = may_link(Do::BackwardInput, k);
    int const at = out.steps;
    pass_back(k, first, second);
    handed_on[k] = true;
    out.step[at].linked = to_last;
  }
  /// The backward pass continues from the small product k to n before any weight gradient: another small product, or a
  /// node without a step between them. (A bias's gradient is also its input's, to which no other reader may then add.)
  constexpr bool follows_back(int n, int k) const {
    if (out.in_backward_tail[n]) return true;
    bool const bias = is_op(n) && op(n).mergeable && op(n).weights > 0 && readers[node(n).in0 + 1] == 1;
    return (bias || may_link(Do::BackwardInput, n)) && node(n).in1 == -2 && needs(node(n).in0) &&
           heard[n + 1] == readers[n + 1] && node(n).rows_cut == node(k).rows_cut;
  }

  constexpr void backward() {
    for (int k = placed.count - 1; k >= 0; --k) {
      if (!out.needs_gradient[k]) continue;
      int const in0 = node(k).in0, in1 = node(k).in1;
      if (!is_op(k)) {
        if (!needs(in0)) continue;
        if (node(k).conversion.backward == op::Verb::None) {
          alias(in0, out.gradient[k]);
          continue;
        }
        int const dx = target(in0);
        out.buffer[dx].category = Category::Communication;
        emit(Do::ConvertBack, k, dx);
        add(in0, dx);
        continue;
      }
      place::Signature const& s = op(k);
      hand_on(k);
      for (int n = k - 1; narrow(k) && handed_on[k] && n >= 0 && follows_back(n, k); --n) hand_on(n);
      if (s.weights > 0) {  // after the gradient of the input, which needs the old weights
        if (s.stats_input) {
          out.gradient[in1] = buffer(node(in1).local.y.size(), false, false, true, Category::Activations);
          emit(Do::BackwardWeight, k, out.gradient[in1]);
          emit(Do::SumBack, in1, out.gradient[in1]);
        } else {
          emit(Do::BackwardWeight, k);
        }
        for (int b = 0; b < out.buckets; ++b) {
          if (out.bucket[b].node == k) emit(Do::Start, b);
        }
      }
    }
    if (request.clips) emit(Do::Norm, -1);
    for (int b = out.buckets - 1; b >= 0; --b) emit(Do::Update, b);
  }

  /// The element-wise operations fused to the step that computes k's input gradient, if no other reader adds to it.
  constexpr void trail(int k) {
    auto const whole = [&](int m) {
      return readers[m + 1] == 1 || (m == k - 1 && out.adds[k] && heard[m + 1] == readers[m + 1]);
    };
    for (int m = k - 1; m >= 0 && node(m + 1).in0 == m && whole(m) && goes_along(m); --m) {
      int const in0 = node(m).in0;
      if (node(m).in1 > -2 || !needs(in0) || readers[m] != 1 || node(m).rows_cut != node(k).rows_cut) return;
      if (out.head[m] != m) {
        inherit(in0, out.gradient[m]);
      } else {
        target(in0, out.gradient[m]);
      }
      out.in_backward_tail[m] = true;
      ++out.backward_tail[k];
    }
  }

  constexpr void pass_back(int k, bool first, bool second) {
    place::Signature const& s = op(k);
    int const in0 = node(k).in0, in1 = node(k).in1;
    bool const merged = out.head[k] != k;
    if (s.mergeable && s.weights > 0) {  // a bias passes its gradient on unchanged
      alias(in0, out.gradient[k]);
      return;
    }
    if (merged) {  // a map's gradient takes its place
      inherit(in0, out.gradient[k]);
      emit(Do::BackwardInput, k, out.gradient[k]);
      return;
    }
    int const from = s.elementwise && s.weights == 0 && in1 == -2 ? out.gradient[k] : -1;
    int const dx = first ? target(in0, from) : -1;
    int const dx2 = second ? target(in1) : -1;
    out.adds[k] = first && !second && in0 >= 0 && gradient(in0) != dx && rows_cut(in0) == rows_cut(k);
    if (first && !second) trail(k);
    emit(Do::BackwardInput, k, dx, dx2);
    if (first && !out.adds[k]) add(in0, dx);
    if (second) add(in1, dx2);
  }
};

template <int Ops>
constexpr Schedule<Ops> build(place::Signatures<Ops> const& model, place::Placed<Ops> const& placed,
                              place::Request request) {
  Builder<Ops> b{{model, placed, request}};
  b.prepare();
  if (model.op[Ops - 1].target != op::Target::Class) b.out.targets = model.op[Ops - 1].x.size();
  b.join_buckets();
  b.forward();
  b.backward();
  liveness(model, placed, b.out);
  return b.out;
}

}  // namespace cleave::schedule
