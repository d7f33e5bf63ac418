// schedule/volume.hpp - what each step sends: elements and bytes per collective, for any rank of any number of replicas.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "arena.hpp"

namespace cleave::schedule {

/// One message of a step as one rank sees it.
struct Message {
  op::Verb verb = op::Verb::None;
  bool world = false, model = false;  // over which ranks: all of them, the model axis, or else the data axis
  int ranks = 1;
  long elements = 0;  // of the whole tensor, within the group
  long sent = 0;      // by this rank
  int bytes_each = 4;
};

template <int Ops>
constexpr Message message(Step step, Schedule<Ops> const& s, place::Placed<Ops> const& placed, place::Request request,
                          Format f, Ranks ranks, int rank) {
  int const replica = rank / ranks.model, way = rank % ranks.model;
  int const parts[] = {ranks.data, ranks.world()}, mine[] = {replica, rank};
  Message m;
  m.bytes_each = f.data;
  auto const sum = [&](bool world, long elements) {
    m.verb = op::Verb::AllReduce;
    m.world = world;
    m.ranks = parts[world];
    m.elements = elements;
    Held const h = held(request.micro_batches, slices(request.micro_batches, mine[world], m.ranks), f.ordered);
    m.sent = op::sent(m.verb, elements, op::part_size(elements, mine[world], m.ranks), m.ranks, h.branches);
  };
  if (step.what == Do::Start) {
    sum(s.bucket[step.node].world, s.bucket[step.node].count);
  } else if (step.what == Do::Sum || step.what == Do::SumBack) {
    m.bytes_each = f.sum;
    sum(placed.node[step.node].rows_cut, placed.node[step.node].local.y.size());
  } else if (step.what == Do::Convert || step.what == Do::ConvertBack) {
    place::Node const& n = placed.node[step.node];
    m.verb = step.what == Do::Convert ? n.conversion.forward : n.conversion.backward;
    m.model = true;
    m.ranks = ranks.model;
    int const own = slices(request.micro_batches, replica, ranks.data).size();
    m.elements = long{own} * request.rows * n.whole.size();
    bool const rows = n.rows_cut || n.from_rows;
    long const part = m.verb == op::Verb::AllReduce ? op::part_size(m.elements, way, m.ranks)
                      : rows ? slices(request.micro_batches, rank, ranks.world()).size() * request.rows * n.whole.size()
                             : m.elements / m.ranks;
    m.sent = op::sent(m.verb, m.elements, part, m.ranks);
  }
  return m;
}

/// Sums over one step, of what one rank sends. `elements_per_step` is what the field calls the volume.
struct Traffic {
  long elements_per_step = 0, bytes_per_step = 0;
  long elements[static_cast<int>(op::Verb::Illegal)]{};  // by verb
  int messages = 0;
  constexpr long operator[](op::Verb v) const { return elements[static_cast<int>(v)]; }
};

template <int Ops>
constexpr Traffic traffic(Schedule<Ops> const& s, place::Placed<Ops> const& placed, place::Request request, Format f,
                          Ranks ranks, int rank, bool forward_only = false) {
  Traffic t;
  for (int k = 0; k < (forward_only ? s.forward_steps : s.steps); ++k) {
    Message const m = message(s.step[k], s, placed, request, f, ranks, rank);
    if (m.sent == 0) continue;
    t.elements_per_step += m.sent;
    t.bytes_per_step += m.sent * m.bytes_each;
    t.elements[static_cast<int>(m.verb)] += m.sent;
    ++t.messages;
  }
  return t;
}

}  // namespace cleave::schedule
