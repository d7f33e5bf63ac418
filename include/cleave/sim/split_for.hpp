// sim/split_for.hpp - `ModelParallel<SplitFor<Lab>, Ways<4>>`: the compiler splits each layer as is fastest on a machine.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdio>
#include <string>
#include <type_traits>

#include "machine.hpp"

namespace cleave {
namespace sim {

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
  bool differentiates[place::Placed<Ops>::most]{};  // whether the gradient of a node's value is wanted
  for (int k = 0; k < placed.count; ++k) {
    place::Node const& n = placed.node[k];
    bool const of_input = n.in0 >= 0 ? differentiates[n.in0] : request.input_gradient;
    bool const of_second = n.in1 >= 0 && differentiates[n.in1];
    if (n.op < 0) {
      differentiates[k] = of_input;
      double const elements = static_cast<double>(n.whole.size()) * message.samples;
      place::AxisSet const along = place::changed(n.x, n.y);
      total += message(n.conversion.forward, along, elements);
      if (of_input) total += message(n.conversion.backward, along, elements);
      continue;
    }
    place::Signature const& s = model.op[n.op];
    bool const learns = s.weights > 0 && s.leaf >= request.frozen && !request.infers;
    differentiates[k] = !request.infers && (of_input || of_second || learns);
    auto const [there, back] =
        message.passes(s, n.local, n.batch_axes, !request.infers && (of_input || of_second), learns);
    total += there;
    backward += back;
    if (!learns) continue;
    double const sum = message(op::Verb::AllReduce, place::axes_of(n.w, place::replicate), weights_of(s, n.local));
    last_sum = last_sum > 0 ? last_sum : sum;  // that of the lowest operation
    sums += sum;
  }
  double const hidden = sums - last_sum < backward ? sums - last_sum : backward;
  return total + backward + sums - hidden;
}

/// Whether the gradient of each operation's result is wanted.
template <int Ops> struct Differentiated {
  bool of[Ops < 1 ? 1 : Ops]{};
  constexpr Differentiated(place::Signatures<Ops> const& model, place::Request const& request) {
    for (int k = 0; k < Ops && !request.infers; ++k) {
      place::Signature const& s = model.op[k];
      of[k] = (s.weights > 0 && s.leaf >= request.frozen) || wanted(s.in0, request) ||
              (s.in1 > -2 && wanted(s.in1, request));
    }
  }
  constexpr bool wanted(int op, place::Request const& request) const {
    return op < 0 ? request.input_gradient : of[op];
  }
};

/// The first operations of a model with their splits, and what they take: without overlap.
template <int Ops> struct SplitPrefix {
  Splits<Ops> splits;
  place::Shardings<Ops> at;
};

/// Adds operation k with this letter. Of the sums of gradients that of the first layer takes time, and of the others
/// the part that is `exposed`.
template <int Ops>
constexpr void extend(SplitPrefix<Ops>& to, place::Signatures<Ops> const& model, SplitGoal const& goal, int k,
                      char letter, double exposed) {
  place::Request const& request = goal.request;
  place::Signature const& s = model.op[k];
  SplitCosts const message(goal);
  to.splits.of[k] = letter;
  place::Wishes<Ops> wishes{};
  constexpr int axis = place::data_axis + 1;
  wishes.of[k][axis] = letter == 'W' || !s.contracts ? '\0' : letter;
  place::algebra::Propagation<Ops> pass{model, request.mesh, request, to.at};
  if (k == 0) {
    for (int a = 0; a < request.mesh.axes; ++a) {
      if (request.mesh.size[a] == 0 || (a == axis && letter == 'b' && s.contracts && !request.input_gradient))
        pass.out.input.on[a] = place::shard(place::batch);
    }
  }
  if (s.contracts && request.mesh.ways() > 1) pass.check_cut(s, wishes.of[k], axis);
  for (int a = 0; a < request.mesh.axes; ++a) {
    if (request.mesh.size[a] != 1) pass.place(k, a, request.mesh.size[a] == 0 ? 'b' : wishes.of[k][a]);
  }
  place::OpSharding const& at = pass.out.op[k];
  Differentiated<Ops> const differentiated(model, request);
  double time = 0;
  bool legal = pass.out.verdict.law == place::Law::None;
  auto const convert = [&](int in, place::Sharding const& wanted, Shape whole) {
    place::Placement const have = pass.value(in, axis);
    place::Conversion const c = place::convert(have, wanted.on[axis]);
    legal = legal && (c.legal() || have == wanted.on[axis]);
    double const elements = static_cast<double>(whole.size()) * message.samples;
    time += message(c.forward, {axis}, elements);
    if (differentiated.wanted(in, request)) time += message(c.backward, {axis}, elements);
  };
  if (request.mesh.ways() > 1) {
    convert(s.in0, at.x, s.x);
    if (s.in1 > -2 && !s.stats_input) convert(s.in1, at.x2, s.x2);
  }
  to.at = pass.out;
  if (!legal) {
    to.splits.ns = -1;
    return;
  }
  op::Local const local = place::algebra::local_of(s, at, request.mesh, request);
  bool const learns = s.weights > 0 && s.leaf >= request.frozen && !request.infers;
  bool const gives_back =
      differentiated.wanted(s.in0, request) || (s.in1 > -2 && differentiated.wanted(s.in1, request));
  auto const [there, back] =
      message.passes(s, local, place::axes_of(at.x, place::shard(place::batch)), gives_back && !request.infers, learns);
  time += there + back;
  bool lowest = learns;
  for (int below = 0; below < k; ++below)
    lowest = lowest && !(model.op[below].weights > 0 && model.op[below].leaf >= request.frozen);
  if (learns)
    time += (lowest ? 1 : exposed) *
            message(op::Verb::AllReduce, place::axes_of(at.w, place::replicate), weights_of(s, local));
  to.splits.ns += time;
}

/// Whole, by samples, columns, rows.
inline constexpr char split_letters[] = {'W', 'b', 'o', 'i'};

/// From the first operation to the last: of the splits up to an operation that end with each letter the fastest is
/// kept. With one path through the model, and times that add up, none is faster.
template <int Ops> struct Frontier {
  SplitPrefix<Ops> of[4];
  int states = 1;
  constexpr Frontier() = default;
  /// Before the first operation.
  constexpr explicit Frontier(Splits<Ops> const& asked) {
    of[0].splits = asked;
    of[0].splits.ns = 0;
  }
  constexpr Splits<Ops> fastest() const {
    Splits<Ops> best;
    for (auto const& each : of) best = each.splits.better_than(best) ? each.splits : best;
    return best;
  }
};
constexpr bool is_open(place::Signature const& s, char asked) { return asked == '?' && s.contracts; }

template <int Ops>
constexpr Frontier<Ops> extended(Frontier<Ops> const& from, place::Signatures<Ops> const& model, SplitGoal const& goal,
                                 char asked, int k, double exposed) {
  Frontier<Ops> out;
  if (!is_open(model.op[k], asked)) {
    out = from;
    for (int b = 0; b < out.states; ++b) {
      if (out.of[b].splits.ns >= 0) extend(out.of[b], model, goal, k, asked, exposed);
    }
    return out;
  }
  out.states = 4;
  for (int a = 0; a < 4; ++a) {
    out.of[a].splits.ns = -1;
    for (int b = 0; b < from.states; ++b) {
      if (from.of[b].splits.ns < 0) continue;
      SplitPrefix<Ops> tried = from.of[b];
      extend(tried, model, goal, k, split_letters[a], exposed);
      if (tried.splits.better_than(out.of[a].splits)) out.of[a] = tried;
    }
  }
  return out;
}

/// One split for all open convolutions and one for all open products.
template <int Ops>
constexpr Splits<Ops> alike(place::Signatures<Ops> const& model, SplitGoal const& goal, Splits<Ops> s,
                            char convolutions, char products) {
  for (int k = 0; k < Ops; ++k) {
    if (s.of[k] == '?') s.of[k] = model.op[k].x.dims == 3 ? convolutions : products;
  }
  auto const wishes = place::wishes(model, s.of, goal.request);
  for (int k = 0; k < Ops; ++k) {
    if (s.of[k] == '~' && model.op[k].contracts) s.of[k] = wishes.of[k][place::data_axis + 1];  // what it stands for
  }
  s.ns = split_time(model, s, goal);
  return s;
}

/// The same with another letter for one operation, if that is faster, with overlap.
template <int Ops>
constexpr Splits<Ops> improved(Splits<Ops> const& best, place::Signatures<Ops> const& model, SplitGoal const& goal,
                               char asked, int k, char letter) {
  if (!is_open(model.op[k], asked) || letter == best.of[k]) return best;
  Splits<Ops> tried = best;
  tried.of[k] = letter;
  tried.ns = split_time(model, tried, goal);
  return tried.better_than(best) ? tried : best;
}

/// The splits of a model whose letters are '?'. Each step is a constant of its own, since compilers limit what one may
/// take.
template <auto const& Model, auto const& Goal, auto const& Asked> struct SplitSearch {
  static constexpr int ops = std::remove_cvref_t<decltype(Model)>::count;
  template <int K, int Percent> static constexpr Frontier<ops> frontier() {
    if constexpr (K < 0) {
      return Frontier<ops>(Asked);
    } else {
      return extended(up_to<K - 1, Percent>, Model, Goal, Asked.of[K], K, Percent / 100.0);
    }
  }
  template <int K, int Percent> static constexpr Frontier<ops> up_to = frontier<K, Percent>();
  template <int Percent> static constexpr Splits<ops> fastest() {
    Splits<ops> best = up_to<ops - 1, Percent>.fastest();
    if (best.ns >= 0) best.ns = split_time(Model, best, Goal);
    return best;
  }
  static constexpr Splits<ops> exposed = fastest<100>(), half = fastest<50>(), hidden = fastest<0>(),
                               whole = alike(Model, Goal, Asked, 'W', 'W'), data = alike(Model, Goal, Asked, 'b', 'b'),
                               columns = alike(Model, Goal, Asked, 'o', '~'),
                               trick = alike(Model, Goal, Asked, 'b', '~');
  static constexpr Splits<ops> first() {
    Splits<ops> out = whole;  // which is always legal
    for (Splits<ops> const& s : {exposed, half, hidden, data, columns, trick}) out = s.better_than(out) ? s : out;
    return out;
  }
  template <int Try> static constexpr Splits<ops> better() {
    if constexpr (Try < 0) {
      return first();
    } else if constexpr (!is_open(Model.op[Try / 4], Asked.of[Try / 4])) {
      return after<Try - 4>;
    } else {
      return improved(after<Try - 1>, Model, Goal, '?', Try / 4, split_letters[Try % 4]);
    }
  }
  template <int Try> static constexpr Splits<ops> after = better<Try>();
  /// No slower in the model than all layers whole, data parallelism, columns and rows, or convolutions by samples with
  /// columns and rows behind; nor than with another split of one layer tried in turn.
  static constexpr Splits<ops> best() { return after<4 * ops - 1>; }
};

}  // namespace sim

/// Every layer without a split of its own is split as makes a step on M fastest in the model of `sim::split_time`:
/// whole, by samples, columns or rows. `Replicas`: of a plan with data parallelism, how many are meant.
template <class M, int Replicas = 1> struct SplitFor {
  static_assert(Replicas >= 1, "SplitFor<machine, replicas>: the number of replicas is at least 1");
  static constexpr char letter = '?';
  static constexpr sim::SplitGoal goal(place::Request const& request, int bytes_each) {
    return {request, Replicas, bytes_each, sim::speeds<M>(bytes_each)};
  }
  template <auto const& Request, int BytesEach> static constexpr sim::SplitGoal goal_of = goal(Request, BytesEach);
  template <int Ops, auto const& Said>
  static constexpr sim::Splits<Ops> asked = [] {
    sim::Splits<Ops> out;
    for (int k = 0; k < Ops; ++k) out.of[k] = Said.of[k];
    return out;
  }();
  /// The letters `Said`, of which each '?' is chosen.
  template <auto const& Model, auto const& Request, int BytesEach, auto const& Said> static constexpr auto choose() {
    constexpr int ops = std::remove_cvref_t<decltype(Model)>::count;
    constexpr auto best = sim::SplitSearch<Model, goal_of<Request, BytesEach>, asked<ops, Said>>::best();
    auto out = Said;
    for (int k = 0; k < ops; ++k) out.of[k] = best.of[k];
    return out;
  }
};

/// What SplitFor has chosen in plan P, a line for each product and convolution: the modelled step, and what each other
/// split of that layer alone would make of it.
template <class P> std::string explain_splits() {
  constexpr int ops = P::ops::size;
  auto const name = [](char letter) {
    return letter == 'b' ? "samples" : letter == 'o' ? "columns" : letter == 'i' ? "rows" : "whole";
  };
  sim::SplitGoal const goal = P::model_policy::split::goal(P::request, P::format.data);
  sim::Splits<ops> chosen;
  for (int k = 0; k < ops; ++k) chosen.of[k] = P::splits.of[k];
  std::string out;
  for (int k = 0; k < ops; ++k) {
    place::Signature const& s = P::signatures.op[k];
    if (!s.contracts) continue;
    char line[160];
    std::snprintf(line, sizeof line, "layer %d, %.*s: %s, %.3g ms", s.leaf, static_cast<int>(s.name.size()),
                  s.name.data(), name(chosen.of[k]), sim::split_time(P::signatures, chosen, goal) / 1e6);
    out += line;
    char const* between = "; ";
    for (char const letter : sim::split_letters) {
      if (letter == chosen.of[k]) continue;
      sim::Splits<ops> other = chosen;
      other.of[k] = letter;
      double const ns = sim::split_time(P::signatures, other, goal);
      if (ns < 0) {
        std::snprintf(line, sizeof line, "%s%s is not possible", between, name(letter));
      } else {
        std::snprintf(line, sizeof line, "%s%s would take %.3g", between, name(letter), ns / 1e6);
      }
      out += line;
      between = ", ";
    }
    out += '\n';
  }
  return out;
}

}  // namespace cleave
