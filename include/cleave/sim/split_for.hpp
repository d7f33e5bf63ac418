// sim/split_for.hpp - `ModelParallel<SplitFor<Lab>, Ways<4>>`: the compiler splits each layer as is fastest on a machine.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdio>
#include <string>
#include <type_traits>
#include <utility>

#include "split_time.hpp"

namespace cleave {
namespace sim {

/// The first operations of a model with their splits, and what they take: without overlap.
template <int Ops> struct SplitPrefix {
  Splits<Ops> splits;
  place::Shardings<Ops> at;
};

/// Whether an operation below k learns.
template <int Ops>
constexpr bool learns_below(place::Signatures<Ops> const& model, place::Request const& request, int k) {
  bool any = false;
  for (int below = 0; below < k; ++below) any = any || learns(model.op[below], request);
  return any;
}

/// Places operation k behind those that are placed, as propagate_shardings does, on the one axis of ways.
template <int Ops>
constexpr place::algebra::Propagation<Ops> placed_behind(SplitPrefix<Ops> const& to,
                                                         place::Signatures<Ops> const& model,
                                                         place::Request const& request, int k, char letter) {
  constexpr int axis = place::data_axis + 1;
  place::Signature const& s = model.op[k];
  place::algebra::Propagation<Ops> pass{model, request.mesh, request, to.at};
  place::Placement const before = pass.value(s.in0, axis);
  if (letter == '^') letter = 'i';
  if (letter == '~') letter = before.kind == place::Kind::Shard && before.dim != place::batch ? 'i' : 'o';
  place::Wishes<Ops> wishes{};
  wishes.of[k][axis] = letter == 'W' || !s.contracts ? '\0' : letter;
  for (int a = 0; a < request.mesh.axes && k == 0; ++a) {
    bool const samples = a == axis && letter == 'b' && s.contracts && !request.input_gradient;
    if (request.mesh.size[a] == 0 || samples) pass.out.input.on[a] = place::shard(place::batch);
  }
  if (s.contracts && request.mesh.ways() > 1) pass.check_cut(s, wishes.of[k], axis);
  for (int a = 0; a < request.mesh.axes; ++a) {
    if (request.mesh.size[a] != 1) pass.place(k, a, request.mesh.size[a] == 0 ? 'b' : wishes.of[k][a]);
  }
  return pass;
}

/// Adds operation k with this letter. Of the sums of gradients that of the first layer takes time, and of the others
/// the part that is `exposed`.
template <int Ops>
constexpr void extend(SplitPrefix<Ops>& to, place::Signatures<Ops> const& model, SplitGoal const& goal, int k,
                      char letter, double exposed) {
  constexpr int axis = place::data_axis + 1;
  place::Request const& request = goal.request;
  place::Signature const& s = model.op[k];
  SplitCosts const message(goal);
  place::algebra::Propagation<Ops> const pass = placed_behind(to, model, request, k, letter);
  place::OpSharding const& at = pass.out.op[k];
  Differentiated<Ops> const differentiated(model, request);
  bool legal = pass.out.verdict.law == place::Law::None;
  auto const converted = [&](int in, place::Sharding const& wanted, Shape whole) {
    place::Placement const have = pass.value(in, axis);
    place::Conversion const c = place::convert(have, wanted.on[axis]);
    legal = legal && (c.legal() || have == wanted.on[axis]);
    double const elements = static_cast<double>(whole.size()) * message.samples;
    return message(c.forward, {axis}, elements) +
           (differentiated.wanted(in) ? message(c.backward, {axis}, elements) : 0);
  };
  bool const second = s.in1 > -2, ways = request.mesh.ways() > 1;
  double time = ways ? converted(s.in0, at.x, s.x) : 0;
  if (ways && second && !s.stats_input) time += converted(s.in1, at.x2, s.x2);
  to.splits.of[k] = letter;
  to.at = pass.out;
  to.splits.ns = legal ? to.splits.ns : -1;
  if (!legal) return;

  op::Local const local = place::algebra::local_of(s, at, request.mesh, request);
  auto const [there, back] = message.passes(s, local, place::axes_of(at.x, place::shard(place::batch)),
                                            differentiated.of_inputs(s), learns(s, request));
  time += there + back;
  if (learns(s, request))
    time += (learns_below(model, request, k) ? exposed : 1) *
            message(op::Verb::AllReduce, place::axes_of(at.w, place::replicate), weights_of(s, local));
  to.splits.ns += time;
}

/// Whole, by samples, columns, rows.
inline constexpr char split_letters[] = {'W', 'b', 'o', 'i'};

/// From the first operation to the last: of the splits up to an operation that end with each letter the fastest is
/// kept. With one path through the model, and times that add up, none is faster.
template <int Ops> struct Frontier {
  SplitPrefix<Ops> of[4];  // of each letter; before the first open operation there is one
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
    for (SplitPrefix<Ops>& each : out.of) {
      if (each.splits.ns >= 0) extend(each, model, goal, k, asked, exposed);
    }
    return out;
  }
  for (int a = 0; a < 4; ++a) {
    for (SplitPrefix<Ops> const& before : from.of) {
      if (before.splits.ns < 0) continue;
      SplitPrefix<Ops> tried = before;
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
  static constexpr Splits<ops> best() {
    static_assert(searched(std::make_integer_sequence<int, ops>{}) &&
                  improved_all(std::make_integer_sequence<int, 4 * ops>{}));
    return after<4 * ops - 1>;
  }

 private:
  // Makes the constants from the first to the last: compilers limit how deep one may lead to another.
  template <int K, int Percent> using at = std::bool_constant<(up_to<K, Percent>.of[0].splits.ns < 0)>;
  template <int... K> static constexpr bool searched(std::integer_sequence<int, K...>) {
    return ((sizeof(at<K, 100>) + sizeof(at<K, 50>) + sizeof(at<K, 0>) > 0) && ...);
  }
  template <int... Try> static constexpr bool improved_all(std::integer_sequence<int, Try...>) {
    return ((sizeof(std::bool_constant<(after<Try>.ns < 0)>) > 0) && ...);
  }
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
    return letter == 'b'                    ? "samples"
           : letter == 'o'                  ? "columns"
           : letter == 'i'                  ? "rows"
           : letter == 'c'                  ? "groups"
           : letter == '~' || letter == '^' ? "columns or rows"
                                            : "whole";
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
