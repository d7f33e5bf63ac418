// place/place.hpp - the operations of a model in order, with conversions where an input is not placed as it is wanted.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "local.hpp"

namespace cleave::place {

/// An operation with its placements, or a conversion along one axis between two of them.
struct Node {
  int op = -1;             // which operation; -1: a conversion
  int in0 = -1, in1 = -2;  // nodes; -1 the model's input, -2 none
  Sharding x, y, w;
  Conversion conversion;
  AxisSet batch_axes;  // that cut the samples of which it has the value
  Shape whole;         // of y, one sample
  op::Local local;
  int part = 0;  // of a pipeline: the stage that has it has y
  PaddedRows padded;
  bool reads_padded = false;  // an operation, which then runs as its `of_padded`
  constexpr bool is_send() const { return conversion.forward == op::Verb::Send; }
};

template <int Ops> struct Placed {
  static constexpr int most = Ops * 3 + 2;
  Node node[most];
  int count = 0;
  Sharding input;  // of the batch that ranks are given
  int last = -1;   // what the loss reads: the model's output
  Verdict verdict;
  /// Whether two ranks have unequal parts of a weight; of a value, then, only if so.
  constexpr bool has_unequal_parts(Signatures<Ops> const& model, DeviceMesh const& mesh) const {
    bool any = false;
    for (int k = 0; k < count; ++k) {
      if (node[k].op < 0) continue;
      for (int w = 0; w < model.op[node[k].op].weights; ++w) {
        long all = (w == 0 ? node[k].local.w0 : node[k].local.w1).size();
        for (int a = 0; a < mesh.axes; ++a) all *= node[k].w.on[a].kind == Kind::Shard ? mesh.size[a] : 1;
        any = any || all != model.op[node[k].op].w[w].shape.size();
      }
    }
    return any;
  }
  /// Whether a conversion gives windows rows of other ranks.
  constexpr bool has_padded_rows() const {
    bool any = false;
    for (int k = 0; k < count; ++k) any = any || node[k].padded.height > 0;
    return any;
  }
};

namespace algebra {

/// Whether an all-to-all along one axis brings a value from parts of a sample's first dimension to equal parts of
/// another, or back, where outer axes may cut the other too. Else it goes by way of the whole.
constexpr bool exchanges_parts(Sharding const& from, Sharding const& to, Shape const& whole, DeviceMesh const& mesh) {
  bool does = false;
  int ranks = 1;  // of all axes that cut the other dimension
  for (int a = 0; a < mesh.axes; ++a) {
    Placement const p = from.on[a], q = to.on[a];
    bool const is_cut = p.kind == Kind::Shard && p.dim > batch, will_cut = q.kind == Kind::Shard && q.dim > batch;
    if (!is_cut && !will_cut) continue;
    if (does || !is_cut || !will_cut) return false;
    ranks *= mesh.size[a];
    if (p == q) continue;
    if (p.dim == q.dim) return false;  // other parts of the same dimension
    int const first = p.dim < q.dim ? p.dim : q.dim, other = p.dim < q.dim ? q.dim : p.dim;
    does = first == batch + 1 && whole[0] % mesh.size[a] == 0 && whole[other - 1] % ranks == 0;
  }
  return does;
}

template <int Ops> struct Placer {
  Signatures<Ops> const& model;
  Shardings<Ops> const& shardings;
  DeviceMesh mesh;
  Request request;
  Placed<Ops> out{};
  int node_of[Ops + 1]{};
  int leaf = 0;  // of the operation that is being placed

  constexpr Sharding const& placement(int node) const { return node < 0 ? out.input : out.node[node].y; }
  constexpr int node(int op) const { return op < 0 ? op : node_of[op]; }
  constexpr int part(int node) const { return node < 0 ? 0 : out.node[node].part; }

  /// The node that holds `from`'s value where a part of a pipeline reads it. Each part hands it on to the next, so that
  /// all that is sent goes between neighbours, and gradients are added in the order of the operations.
  constexpr int sent(int from, int to, Shape whole) {
    while (part(from) != to && out.verdict.law == Law::None) from = sent_to_next(from, whole);
    return from;
  }
  constexpr int sent_to_next(int from, Shape whole) {
    int const to = part(from) + 1;
    for (int k = from + 1; k < out.count; ++k) {
      if (out.node[k].is_send() && out.node[k].in0 == from && out.node[k].part == to) return k;
    }
    Node n;
    n.in0 = from;
    n.x = n.y = placement(from);
    n.conversion = {op::Verb::Send, op::Verb::Send};
    return moved(n, whole, to);
  }
  constexpr int moved(Node n, Shape whole, int part) {
    n.batch_axes = axes_of(n.y, shard(batch));
    n.whole = whole;
    n.local.rows = request.rows;
    n.local.x = cut(whole, n.x, mesh, 1);
    n.local.y = cut(whole, n.y, mesh, 1);
    n.part = part;
    return added(n);
  }
  constexpr int added(Node const& n) {
    if (out.count == Placed<Ops>::most) {
      out.verdict = {Law::Nodes, out.count, 0, leaf};
      return out.count - 1;
    }
    out.node[out.count] = n;
    return out.count++;
  }

  /// The node that holds `from`'s value as `to`; each conversion is created once, or, in blocks, for each reader.
  constexpr int converted(int from, Sharding to, Shape whole, Signature const& s, int part) {
    from = sent(from, part, whole);
    for (int a = 0; a < mesh.axes && from < 0 && !request.input_gradient; ++a) {  // without a gradient these are alike
      if (placement(from).on[a] == invariant && to.on[a] == replicate) to.on[a] = invariant;
    }
    if (placement(from) == to) return from;
    if (!cuts_one_besides_the_first(to) || !cuts_one_besides_the_first(placement(from)))
      out.verdict = {Law::Unconvertible, s.leaf, 0, s.leaf};
    int const dim = sample_dim(to);
    Sharding between = placement(from);  // from one dimension of a sample to another by way of the whole
    for (int a = 0; a < mesh.axes && dim != batch && !exchanges_parts(placement(from), to, whole, mesh); ++a) {
      Placement& p = between.on[a];
      bool const stays = dim < 0 ? p == to.on[a] || to.on[a].kind != Kind::Shard
                                 : p.dim == dim && (!is_shard(to.on[a], dim) || to.on[a] == p);
      if (p.kind == Kind::Shard && p.dim > batch && !stays) p = invariant;
    }
    from = converted_in_steps(from, between, whole, s);
    if (changed(placement(from), to).count() <= ConversionPlan::most) return converted_in_steps(from, to, whole, s);
    Sharding inner = placement(from);  // the innermost axis that changes, by itself
    int a = mesh.axes - 1;
    while (inner.on[a] == to.on[a]) --a;
    inner.on[a] = to.on[a];
    if (!cuts_one_besides_the_first(inner)) out.verdict = {Law::Unconvertible, s.leaf, 0, s.leaf};
    return converted_in_steps(converted_in_steps(from, inner, whole, s), to, whole, s);
  }
  constexpr int converted_in_steps(int from, Sharding const& to, Shape whole, Signature const& s) {
    if (placement(from) == to) return from;
    ConversionPlan const plan = plan_conversion(placement(from), to, mesh);
    if (!plan.legal) out.verdict = {Law::Unconvertible, s.leaf, 0, s.leaf};
    for (int i = 0; i < plan.steps && plan.legal; ++i) {
      int const axis = plan.step[i].axis;  // of an unknown number of replicas: nothing moves between them
      if (mesh.size[axis] == 0) out.verdict = {Law::AcrossReplicas, s.leaf, 0, s.leaf};
      from = converted_along(axis, from, to, whole);
    }
    return from;
  }
  /// The node of the same conversion, -1: there is none yet. In blocks the gradients of all readers are converted alone
  /// and then added, in the order of one rank.
  constexpr int made_before(Node const& n) const {
    for (int k = n.in0 + 1; k < out.count && request.blocks == 1; ++k) {
      Node const& of = out.node[k];
      if (of.op < 0 && of.in0 == n.in0 && of.y == n.y && of.padded == n.padded) return k;
    }
    return -1;
  }
  /// The input of an operation whose windows read rows of other ranks.
  constexpr int converted_to_padded(Signature const& s, OpSharding const& at, int ranks) {
    int const rows = s.y[image_rows - 1] / ranks;
    AxisSet const over = axes_of(at.x, shard(image_rows));
    Sharding from = at.x;
    bool const all_are_here = s.in0 < 0 && !request.input_gradient;
    for (int a = 0; a < mesh.axes && all_are_here; ++a) {
      if (over.has(a)) from.on[a] = out.input.on[a];
    }
    Node n;
    n.in0 = converted(node(s.in0), from, s.x, s, at.part);
    n.x = n.y = placement(n.in0);
    for (int a = 0; a < mesh.axes; ++a) n.y.on[a] = over.has(a) ? shard(image_rows) : n.y.on[a];
    n.conversion =
        all_are_here ? Conversion{op::Verb::Slice, op::Verb::None} : Conversion{op::Verb::Halo, op::Verb::Halo};
    n.padded = {s.x[image_rows - 1], s.windows.first_read(), s.windows.step(rows), s.windows.rows_read(rows),
                s.windows.columns()};
    if (int const k = made_before(n); k >= 0) return k;
    int const made = moved(n, s.x, at.part), width = s.x[image_rows] + 2 * n.padded.columns;
    Node& to = out.node[made];
    to.whole = s.x.with(image_rows - 1, n.padded.rows * ranks).with(image_rows, width);
    to.local.y = to.local.y.with(image_rows - 1, n.padded.rows).with(image_rows, width);
    return made;
  }
  /// That have parts of the positions of what an operation reads.
  constexpr int ranks_of_positions(Signature const& s, Sharding const& x) const {
    int ranks = 1;
    for (int a = 0; a < mesh.axes; ++a) ranks *= is_shard(x.on[a], s.x_at.dim('t')) ? mesh.size[a] : 1;
    return ranks;
  }
  /// Over so many ranks; 1: its input is what each rank has.
  constexpr int ranks_with_padding(Signature const& s, OpSharding const& at) const {
    if (s.windows.reach == 0) return 1;
    int const ranks = ranks_of_positions(s, at.x);
    return s.windows.reads_own(s.y[image_rows - 1] / ranks, s.x[image_rows - 1], ranks) ? 1 : ranks;
  }
  constexpr int converted_along(int axis, int from, Sharding const& to, Shape whole) {
    Node n;
    n.in0 = from;
    n.x = n.y = placement(from);
    n.y.on[axis] = to.on[axis];
    n.conversion = convert(n.x.on[axis], n.y.on[axis]);
    if (int const k = made_before(n); k >= 0) return k;
    return moved(n, whole, part(from));
  }

  constexpr void place(int k) {
    Signature const& s = model.op[k];
    OpSharding const& at = shardings.op[k];
    leaf = s.leaf;
    Node n;
    n.op = k;
    n.part = at.part;
    int const ranks = ranks_with_padding(s, at);
    n.reads_padded = ranks > 1;
    n.in0 = n.reads_padded ? converted_to_padded(s, at, ranks)
                           : converted(node(s.in0), s.written ? at.y : at.x, s.x, s, at.part);
    if (s.written) {
      node_of[k] = n.in0;
      return;
    }
    // A sum over the batch is read as it is: its gradient is summed by a step of its own.
    n.in1 = s.in1 == -2 || s.stats_input ? node(s.in1) : converted(node(s.in1), at.x2, s.x2, s, at.part);
    n.x = placement(n.in0);
    n.y = at.y;
    n.whole = s.y;
    n.batch_axes = axes_of(n.x, shard(batch));
    if (s.weights > 0) n.w = at.w;
    n.local = local_of(s, {n.x, n.in1 == -2 ? Sharding{} : placement(n.in1), n.w, n.y}, mesh, request);
    if (s.sums_batch || s.stats_input) n.local.batch *= ranks_of_positions(s, n.x);
    if (n.reads_padded) n.local.x = out.node[n.in0].local.y;
    if (s.is_loss) out.last = s.reads_class_sums && !request.infers ? n.in1 : n.in0, n.local.labels = s.labels;
    if (s.finds_classes) n.local.classes = s.x[s.x.dims - 1], n.local.labels = s.x.dims > 1 ? s.x[0] : 1;
    node_of[k] = added(n);
    if (s.reads_tied()) check_tied(n, out.node[node_of[s.tied]], s);
  }
  constexpr void check_tied(Node const& reader, Node const& table, Signature const& s) {
    bool const alike = reader.w == table.w && reader.batch_axes == table.batch_axes && reader.part == table.part;
    if (!alike && out.verdict.law == Law::None) out.verdict = {Law::TiedPlaces, s.leaf, model.op[s.tied].leaf, s.leaf};
  }
};

}  // namespace algebra

template <int N>
constexpr Placed<N> place(Signatures<N> const& model, Shardings<N> const& shardings, DeviceMesh const& mesh,
                          Request const& request) {
  algebra::Placer<N> placer{model, shardings, mesh, request};
  placer.out.input = shardings.input;
  placer.out.verdict = shardings.verdict;
  for (int k = 0; k < N && placer.out.verdict.law == Law::None; ++k) placer.place(k);
  return placer.out;
}

}  // namespace cleave::place
