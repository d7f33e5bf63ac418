// schedule/schedule.hpp - what the passes over a placed model give: steps, weights in buckets, tensors.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "chains.hpp"
#include "pipeline.hpp"
#include "steps.hpp"

namespace cleave::schedule {

/// Views the tables of the passes, which must outlive it.
struct Schedule : Chains<Schedule> {
  Step const* step = nullptr;
  int steps = 0, forward_steps = 0;
  Weight const* weight = nullptr;
  int weights = 0;
  Bucket const* bucket = nullptr;
  int buckets = 0;
  long weight_elements = 0, state_elements = 0, most_weight_leaf = 0, most_sum_leaf = 0;
  Buffer const* buffer = nullptr;
  int buffers = 0;
  // Per node, as the tables have them.
  int const *value = nullptr, *aux = nullptr, *gradient = nullptr, *first_weight = nullptr, *bias = nullptr,
            *map = nullptr, *head = nullptr, *forward_tail = nullptr, *backward_tail = nullptr;
  int const *again = nullptr, *aux_again = nullptr;  // value and aux on the way back
  long const* state = nullptr;
  bool const *in_forward_tail = nullptr, *in_backward_tail = nullptr, *adds = nullptr;
  int input_value = -1, input_gradient = -1;
  long targets = 0;             // numbers of a sample that the loss uses; 0 if it uses classes
  int labels = 1;               // classes of a sample
  bool weighs_samples = false;  // by the loss
  PipelineSchedule pipeline;

  constexpr int step_of(Do what, int node) const {
    int s = 0;
    while (s < steps && !(step[s].what == what && step[s].node == node)) ++s;
    return s < steps ? s : -1;
  }
};

template <int Ops>
constexpr Schedule view(PlacedModel<Ops> const& m, Fused<Ops> const& fused, Recomputed<Ops> const& recomputed,
                        BucketTable<Ops> const& buckets, BufferTable<Ops> const& buffers, StepTable<Ops> const& steps,
                        PipelineSchedule const& pipeline) {
  Schedule s;
  s.pipeline = pipeline;
  s.step = steps.step;
  s.steps = steps.steps;
  s.forward_steps = steps.forward_steps;
  s.weight = buckets.weight;
  s.weights = buckets.weights;
  s.bucket = buckets.bucket;
  s.buckets = buckets.buckets;
  s.weight_elements = buckets.weight_elements;
  s.state_elements = buckets.state_elements;
  s.most_weight_leaf = buckets.most_weight_leaf;
  s.most_sum_leaf = buckets.most_sum_leaf;
  s.buffer = buffers.buffer;
  s.buffers = buffers.buffers;
  s.value = buffers.value;
  s.aux = buffers.aux;
  s.again = recomputed.any ? buffers.again : buffers.value;
  s.aux_again = recomputed.any ? buffers.aux_again : buffers.aux;
  s.gradient = buffers.gradient;
  s.first_weight = buckets.first_weight;
  s.bias = fused.bias;
  s.map = fused.map;
  s.head = fused.head;
  s.forward_tail = fused.forward_tail;
  s.backward_tail = fused.backward_tail;
  s.state = buckets.state;
  s.in_forward_tail = fused.in_forward_tail;
  s.in_backward_tail = fused.in_backward_tail;
  s.adds = fused.adds;
  s.input_value = buffers.input_value;
  s.input_gradient = buffers.input_gradient;
  if constexpr (Ops > 0) {
    s.labels = m.model.op[Ops - 1].labels;
    s.weighs_samples = m.model.op[Ops - 1].weighs_samples;
    if (m.count > 0 && m.model.op[Ops - 1].target != op::Target::Class) s.targets = m.model.op[Ops - 1].x.size();
  }
  return s;
}

}  // namespace cleave::schedule
