// sim/split_time.hpp - the modelled step of a model whose operations are split by given letters.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "machine.hpp"

namespace cleave::sim {

/// What a search knows of a plan, beside its model.
struct SplitGoal {
  place::Request request;
  int replicas = 1, bytes_each = 4;
  Speeds speed;
};

/// The splits of operations, by letter: those of place/split.hpp.
template <int Ops> struct Splits {
  char of[Ops < 1 ? 1 : Ops]{};
  double ns = -1;  // of a step; -1: not legal
  constexpr bool better_than(Splits const& o) const { return ns >= 0 && (o.ns < 0 || ns < o.ns); }
};

/// What messages take, and the samples of a replica.
struct SplitCosts {
  Speeds const& speed;
  place::DeviceMesh mesh;
  int slices, rows, bytes_each;
  double samples;

  constexpr explicit SplitCosts(SplitGoal const& goal)
      : speed(goal.speed),
        mesh(goal.request.mesh.with_replicas(goal.replicas)),
        slices((goal.request.micro_batches + goal.replicas - 1) / goal.replicas),
        rows(goal.request.rows),
        bytes_each(goal.bytes_each),
        samples(static_cast<double>(slices) * rows) {}
  /// The micro-batches of a rank, where these axes cut the batch.
  constexpr int slices_of(place::AxisSet batch_axes) const {
    int const ranks = mesh.group_size(batch_axes - place::over_data);
    return (slices + ranks - 1) / ranks;
  }
  /// What an operation takes of a rank: forward, and backward to its input and to its weights.
  struct Passes {
    double forward = 0, backward = 0;
  };
  constexpr Passes passes(place::Signature const& s, op::Local const& local, place::AxisSet batch_axes, bool to_input,
                          bool to_weights) const {
    int const of = slices_of(batch_axes);
    double const there = static_cast<double>(of) * rows, forward = time_of(speed, s, local, there, bytes_each);
    return {forward, (to_input ? forward : 0) + (to_weights ? time_of(speed, s, local, there, bytes_each, of) : 0)};
  }
  /// For so many elements of all ranks of a group together.
  constexpr double operator()(op::Verb verb, place::AxisSet over, double elements) const {
    using enum op::Verb;
    double const p = mesh.group_size(over);
    if (p == 1 || verb == None || verb == Slice) return 0;
    bool const between = over.has(place::data_axis);
    double const sent = verb == AllReduce ? 2 * (p - 1) / p : verb == AllToAll ? (p - 1) / p / p : (p - 1) / p;
    return 2 * speed.latency(between) + sent * elements * bytes_each * speed.of_byte(between);
  }
};
constexpr double weights_of(place::Signature const& s, op::Local const& local) {
  return static_cast<double>(local.w0.size() + (s.weights > 1 ? local.w1.size() : 0));
}

constexpr bool learns(place::Signature const& s, place::Request const& request) {
  return s.weights > 0 && s.leaf >= request.frozen && !request.infers && !s.reads_tied();
}
/// Whether the gradient of each operation's result is wanted.
template <int Ops> struct Differentiated {
  bool of[Ops < 1 ? 1 : Ops]{}, input;
  constexpr Differentiated(place::Signatures<Ops> const& model, place::Request const& request)
      : input(request.input_gradient && !request.infers) {
    for (int k = 0; k < Ops; ++k) of[k] = learns(model.op[k], request) || of_inputs(model.op[k]);
  }
  /// Of the result of an operation, -1: of the model's input.
  constexpr bool wanted(int op) const { return op < 0 ? input : of[op]; }
  constexpr bool of_inputs(place::Signature const& s) const { return wanted(s.in0) || (s.in1 > -2 && wanted(s.in1)); }
};

/// Modelled nanoseconds of a rank in a step; below 0 if the splits break a law. Operations and conversions follow each
/// other; sums of gradients overlap with the backward pass, all but the last.
template <int Ops>
constexpr double split_time(place::Signatures<Ops> const& model, Splits<Ops> const& splits, SplitGoal const& goal) {
  place::Request const& request = goal.request;
  auto const shardings =
      place::propagate_shardings(model, request.mesh, place::wishes(model, splits.of, request), request);
  auto const placed = place::place(model, shardings, request.mesh, request);
  if (placed.verdict.law != place::Law::None) return -1;
  SplitCosts const message(goal);
  double total = 0, backward = 0, sums = 0, last_sum = 0;
  Differentiated<Ops> const differentiated(model, request);
  bool wanted[place::Placed<Ops>::most]{};  // whether the gradient of a node's value is
  for (int k = 0; k < placed.count; ++k) {
    place::Node const& n = placed.node[k];
    if (n.op < 0) {
      wanted[k] = n.in0 < 0 ? differentiated.input : wanted[n.in0];
      double const elements = static_cast<double>(n.whole.size()) * message.samples;
      place::AxisSet const along = place::changed(n.x, n.y);
      total += message(n.conversion.forward, along, elements);
      if (wanted[k]) total += message(n.conversion.backward, along, elements);
      continue;
    }
    place::Signature const& s = model.op[n.op];
    wanted[k] = differentiated.of[n.op];
    auto const [there, back] =
        message.passes(s, n.local, n.batch_axes, differentiated.of_inputs(s), learns(s, request));
    total += there;
    backward += back;
    if (!learns(s, request)) continue;
    double const sum = message(op::Verb::AllReduce, place::axes_of(n.w, place::replicate), weights_of(s, n.local));
    last_sum = last_sum > 0 ? last_sum : sum;  // that of the lowest operation
    sums += sum;
  }
  double const hidden = sums - last_sum < backward ? sums - last_sum : backward;
  return total + backward + sums - hidden;
}

}  // namespace cleave::sim
