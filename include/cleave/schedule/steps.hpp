// schedule/steps.hpp - a pass: the steps of a plan: its instructions with their buffers, the start of each bucket's sum
// as soon as its last gradient is there, and the updates: at the end, or each before the gradients of the next bucket
// but one; and where weights are in parts, each bucket of them before the steps that read it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "bucket.hpp"
#include "buffers.hpp"

namespace cleave::schedule {

template <int Ops> struct StepTable {
  Step step[PlacedModel<Ops>::most_nodes * 4 + Ops * 6 + 4];
  int steps = 0, forward_steps = 0;
};

template <int Ops>
constexpr StepTable<Ops> steps(PlacedModel<Ops> const& m, ForwardPass<Ops> const& values, Adjoints<Ops> const& adjoints,
                               Fused<Ops> const& fused, Recomputed<Ops> const& recomputed,
                               BucketTable<Ops> const& buckets, BufferTable<Ops> const& buffers) {
  StepTable<Ops> out;
  auto const emit = [&](Do what, int k) { out.step[out.steps++] = {what, k}; };
  int gathered[2] = {-1, -1};  // the buckets whose weights are there, of even and of odd number
  auto const gather = [&](int k) {
    if (!m.request.gathers_weights || k < 0 || !m.is_op(k) || m.op(k).weights == 0) return;
    int b = 0;
    while (buckets.weight[buckets.first_weight[k]].offset >= buckets.bucket[b].offset + buckets.bucket[b].count) ++b;
    if (gathered[b % 2] != b) emit(Do::Gather, gathered[b % 2] = b);
  };
  for (int i = 0; i < fused.forward_count; ++i) {
    Instruction const& n = values.at[fused.order[i]];
    if (m.request.infers && m.is_op(n.node) && (m.op(n.node).is_loss || m.op(n.node).of_loss)) continue;
    gather(n.node);
    gather(fused.bias[n.node]);
    out.step[out.steps++] = {n.what, n.node, buffers.value[n.node], -1, fused.linked[i]};
  }
  out.forward_steps = out.steps;
  auto const buffer = [&](int gradient) { return gradient < 0 ? -1 : buffers.of_gradient[gradient]; };
  int waits = buckets.buckets - 1, of = -1;  // the next bucket to start; the operation whose weights are computed
  // Where a bucket's gradients take the place of others, these are updated before, or a part of their sum is kept.
  bool const keeps = m.request.updates_in_turn && (m.request.waits_for_norm || m.request.sums_rounds);
  Do const in_turn = keeps ? Do::Keep : Do::Update;
  int done = waits;  // the next bucket of which that is done
  auto const segment_again = [&](int segment) {
    if (int const k = m.gather_of(segment); k >= 0) {
      out.step[out.steps++] = {Do::Convert, k, buffers.again[k]};
      return;
    }
    for (int i = 0; i < fused.forward_count; ++i) {
      Instruction const& n = values.at[fused.order[i]];
      int const k = n.node;
      if (recomputed.segment[k] != segment || !recomputed.runs[k]) continue;
      gather(k);
      gather(fused.bias[k]);
      out.step[out.steps++] = {n.what, k, buffers.again[k]};
    }
  };
  for (int i = fused.forward_count; i < fused.count; ++i) {
    Instruction const& n = adjoints.at[fused.order[i]];
    if (recomputed.before[i] > 0) segment_again(recomputed.before[i]);
    // The gradients of a product's weights, and of a bias, do not depend on the weights.
    bool const computes = n.what == Do::BackwardInput || n.what == Do::BackwardWeight;
    bool const of_values = n.what == Do::BackwardWeight && (m.op(n.node).contracts || m.op(n.node).mergeable);
    if (computes && !of_values) gather(n.node);
    if (m.request.updates_in_turn && n.what == Do::BackwardWeight && done > waits + 1) emit(in_turn, done--);
    out.step[out.steps++] = {n.what, n.node, buffer(n.dx), buffer(n.dx2), fused.linked[i]};
    if (n.what == Do::BackwardWeight) of = n.node;
    bool const all = n.what == Do::SumBack || (n.what == Do::BackwardWeight && !m.op(of).stats_input);
    if (all && waits >= 0 && buckets.bucket[waits].node == of) emit(Do::Start, waits--);
  }
  if (m.request.infers) return out;
  while (keeps && done >= 0) emit(Do::Keep, done--);
  if (m.request.waits_for_norm) emit(Do::Norm, -1);
  if (keeps || m.request.waits_for_norm) done = buckets.buckets - 1;
  while (done >= 0) emit(Do::Update, done--);
  return out;
}

}  // namespace cleave::schedule
