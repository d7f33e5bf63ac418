// place/propagate.hpp - which letter each operation cuts on each axis of the mesh, and so where its tensors live.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "request.hpp"
#include "signature.hpp"

namespace cleave::place {

/// Where an operation wants its inputs and weights, and where its output is.
struct OpSharding {
  Sharding x, x2, w, y;
  int part = 0;  // of a pipeline, to which its layer belongs
};
template <int Ops> struct Shardings {
  OpSharding op[Ops < 1 ? 1 : Ops];
  Sharding input;  // of the batch that ranks are given
  Verdict verdict;
};

/// The letter that the plan asks each operation to cut, on each axis; 0: none.
template <int Ops> struct Wishes { char of[Ops < 1 ? 1 : Ops][most_axes]{}; };

namespace algebra {

/// The placement of a tensor with these letters, if `letter` is split. `groups`: those of unequal parts; 0: none.
constexpr Placement along(op::Subscripts const& letters, char letter, Placement otherwise, Shape const& shape,
                          int groups, int unit = 1) {
  int const dim = letter == 0 ? -1 : letters.dim(letter);
  if (dim < 0) return otherwise;
  return groups == 0 ? shard(dim) : shard(dim, shape[dim - letters.beyond_shape()] / unit / groups);
}

/// Elements that a conversion moves per sample, forward and backward; joins are compared by this.
constexpr long cost(Placement from, Placement to, long size) {
  Conversion const c = convert(from, to);
  if (!c.legal()) return 1L << 60;
  auto const weight = [](op::Verb v) {
    return v == op::Verb::AllReduce ? 2 : v == op::Verb::None || v == op::Verb::Slice ? 0 : 1;
  };
  return (weight(c.forward) + weight(c.backward)) * size;
}

template <int Ops> struct Propagation {
  Signatures<Ops> const& model;
  DeviceMesh mesh;
  Request request;
  Shardings<Ops> out{};
  Placement scattered[most_axes][Ops < 1 ? 1 : Ops]{};  // of look_ahead
  bool cuts_positions = false;

  constexpr Placement value(int op, int axis) const { return (op < 0 ? out.input : out.op[op].y).on[axis]; }
  /// The ranks along an axis and along those outside it where the output of `op` has this placement.
  constexpr int ranks_with(int op, Placement p, int axis) const {
    int ranks = mesh.size[axis];
    for (int outer = 0; outer < axis; ++outer) ranks *= value(op, outer) == p ? mesh.size[outer] : 1;
    return ranks;
  }
  constexpr void refuse(Law law, int a, int b, Signature const& s) {
    if (out.verdict.law == Law::None) out.verdict = {law, a, b, s.leaf};
  }

  /// An operation that the plan does not split keeps the split of its input if its equation permits, and otherwise
  /// needs it whole; so does one that makes more than zeros of the zeros at the end of a smaller part.
  constexpr char follow(Signature const& s, Placement p, int axis) const {
    char const letter = p.kind == Kind::Shard ? s.x_at[p.dim] : '\0';
    if (!op::may_cut(letter)) return '\0';
    if (p.dim == batch) return letter;
    int const ranks = ranks_with(s.in0, p, axis);
    // Gradients of weights are summed over positions only where the plan says so, and parts of these are equal.
    if (letter == 't' && !(request.cuts_positions.has(axis) && divides_positions(s, ranks))) return '\0';
    return may_share(s, letter, s.x[p.dim - s.x_at.beyond_shape()], ranks, p.unit) ? letter : '\0';
  }
  /// Whether ranks may have equal parts of the positions that an operation reads, and of those that it writes.
  static constexpr bool divides_positions(Signature const& s, int ranks) {
    int const in = s.x_at.dim('t'), out = s.y_at.dim('t');
    int const read = in < 0 ? 0 : s.x[in - 1], written = out < 0 ? 0 : s.y[out - 1];
    return read % ranks == 0 && written % ranks == 0 &&
           (s.windows.reach == 0 || s.windows.has_parts_of(written / ranks));
  }
  /// Whether a number of ranks may have parts of a letter of this extent, of which `unit` indices stay together.
  static constexpr bool may_share(Signature const& s, char letter, int extent, int ranks, int unit = 1) {
    int const parts = s.parts(letter, extent);
    if (unit == 1 && parts % ranks == 0) return true;
    if (!s.keeps_zeros || parts / unit < ranks) return false;
    return (parts == extent && is_everywhere(s, letter, extent)) || has_groups(s, letter, parts);
  }
  /// Whether all tensors of a product in so many groups have whole groups of this letter.
  static constexpr bool has_groups(Signature const& s, char letter, int groups) {
    auto const has = [&](op::Subscripts const& at, Shape const& shape) {
      int const dim = at.dim(letter);
      return dim >= 0 && shape[dim - at.beyond_shape()] % groups == 0;
    };
    return groups == s.groups && has(s.x_at, s.x) && has(s.y_at, s.y) && has(s.w_at, s.w[0].shape);
  }
  /// If unequal parts of a letter are of whole groups: how many groups there are; else 0.
  constexpr int groups_cut(Signature const& s, OpSharding const& at, Placement a, char letter, int axis) const {
    int const dim = letter == 0 || letter == 'b' ? -1 : s.x_at.dim(letter);
    if (dim < 0) return 0;
    int const extent = s.x[dim - s.x_at.beyond_shape()];
    int ranks = mesh.size[axis];
    for (int outer = 0; outer < axis; ++outer) ranks *= is_shard(at.x.on[outer], dim) ? mesh.size[outer] : 1;
    int const groups = s.groups > 1 ? s.parts(letter, extent) : is_shard(a, dim) ? extent / a.unit : extent;
    return groups % ranks == 0 || is_everywhere(s, letter, groups) ? 0 : groups;
  }
  /// Whether all tensors with this letter have this extent of it, so that their parts belong together.
  static constexpr bool is_everywhere(Signature const& s, char letter, int extent) {
    auto const has = [&](op::Subscripts const& at, Shape const& shape, int unit = 1) {
      int const dim = at.dim(letter);
      return dim < 0 || shape[dim - at.beyond_shape()] == extent * (dim == 0 ? unit : 1);
    };
    bool same = has(s.x_at, s.x) && has(s.y_at, s.y) && (s.in1 == -2 || has(s.x2_at, s.x2));
    for (int k = 0; k < s.weights; ++k) same = same && has(s.w_at, s.w[k].shape, s.w[k].unit);
    return same;
  }

  /// What a product cuts of its input, on one axis, is cut by all operations before it up to the last sum over ranks,
  /// if these have one reader each and may be cut: that sum is then scattered, where else each rank would have it whole
  /// and take its part.
  constexpr void look_ahead(int axis, Wishes<Ops> const& wishes) {
    Placement(&to)[Ops < 1 ? 1 : Ops] = scattered[axis];
    int readers[Ops < 1 ? 1 : Ops]{};
    for (int k = 0; k < Ops; ++k) {
      if (model.op[k].in0 >= 0) ++readers[model.op[k].in0];
      if (model.op[k].in1 >= 0) ++readers[model.op[k].in1];
    }
    for (int k = Ops - 1; k >= 0; --k) {
      Signature const& s = model.op[k];
      if (s.in0 < 0 || s.in1 != -2 || readers[s.in0] != 1) continue;
      char const cut = to[k].kind == Kind::Shard ? s.y_at[to[k].dim] : '\0';
      int const dim = s.x_at.dim(s.contracts ? wishes.of[k][axis] : cut);
      if (dim > batch && (s.contracts || follow(s, shard(dim), axis) != 0)) to[s.in0] = shard(dim);
    }
  }

  /// Where the inputs of a join meet.
  constexpr Placement meeting(Signature const& s, Placement a, Placement b) const {
    // What would be a summand of all samples on each rank, where another input has some samples on each.
    if (a.kind == Kind::Shard && !s.y_at.has(s.x_at[a.dim]) && b == shard(batch)) return b;
    Placement const candidates[] = {a, b, invariant};
    Placement best = invariant;
    long least = 1L << 61;
    for (Placement c : candidates) {
      if (c.kind == Kind::Shard && !op::may_cut(s.x_at[c.dim])) continue;
      if (c.kind == Kind::Partial && (!s.linear || request.written || request.blocks > 1)) continue;
      long const total = cost(a, c, s.x.size()) + cost(b, c, s.x2.size());
      if (total < least) {
        least = total;
        best = c;
      }
    }
    return best;
  }

  /// Whether the sum of what operation k reads is scattered along an axis: not within the parts of a dimension that an
  /// outer axis cuts, unless they are read as they are.
  constexpr bool may_scatter(OpSharding const& at, int k, int axis) const {
    Placement const to = scattered[axis][k];
    bool may = to.kind == Kind::Shard;
    for (int outer = 0; outer < axis && may; ++outer) may = at.y.on[outer] != to || scattered[outer][k] == to;
    return may;
  }

  /// Whether each rank may have as many of the experts whose gates an operation reads; else it has them all.
  constexpr bool divides_experts(Signature const& s, OpSharding const& at, int axis, char wish) const {
    int ranks = mesh.size[axis];
    for (int outer = data_axis + 1; outer < axis; ++outer)
      ranks *= at.y.on[outer] == shard(s.y_at.dim('c')) ? mesh.size[outer] : 1;
    return (wish == 'c' || wish == 'o') && s.x2[1] % ranks == 0;
  }

  /// Where the plan cuts positions an operation on each position by itself that reads summands, or is the first
  /// to read the input or an embedding, has a part of the positions on each rank; so have those behind it, up to one
  /// that reads them whole. What a product leaves whole stays so.
  constexpr char by_positions(Signature const& s, Placement a, int axis) {
    char const letter = s.x_at[batch + 1];
    bool const may = request.cuts_positions.has(axis) && a.kind != Kind::Shard && !s.contracts && s.x.dims == 2 &&
                     (letter == 't' || letter == '1');
    bool const begins = s.in0 < 0 || model.op[s.in0].tokens > 0,
               sums = a.kind == Kind::Partial || (s.in1 > -2 && value(s.in1, axis).kind == Kind::Partial);
    if (!may || !(begins || sums)) return '\0';
    if (s.x[0] % mesh.size[axis] != 0) refuse(Law::Positions, s.x[0], mesh.size[axis], s);
    cuts_positions = true;
    return letter;
  }

  /// Where ranks have parts of the positions, an operation that reads all of them for each head has parts of the heads.
  constexpr char by_heads(Signature const& s, Placement a, int axis) {
    int const heads = s.x_at.dim('h');
    if (a != shard(batch + 1) || op::may_cut(s.x_at[batch + 1]) || heads < 0) return '\0';
    int const groups = s.x[heads - s.x_at.beyond_shape()], ranks = ranks_with(s.in0, shard(heads), axis);
    if (groups % ranks != 0) refuse(Law::HeadsOfPositions, groups, ranks, s);
    return 'h';
  }

  constexpr void check_written(Signature const& s, Placement a, Placement b) {
    if ((a.kind == Kind::Partial || b.kind == Kind::Partial) && !s.linear) {
      refuse(Law::Nonlinear, s.leaf, request.mesh.ways(), s);
    }
    if (a.kind == Kind::Partial && s.contracts) refuse(Law::Summed, s.leaf, request.mesh.ways(), s);
  }

  /// Operation k on one axis; `wish` is the letter that it is asked to cut, if it is a product.
  constexpr void place(int k, int axis, char wish) {
    Signature const& s = model.op[k];
    OpSharding& to = out.op[k];
    Placement a = value(s.in0, axis);
    Placement const b = s.in1 > -2 ? value(s.in1, axis) : invariant;
    if (request.written) check_written(s, a, b);
    if (s.written) {
      to.x.on[axis] = a;
      to.y.on[axis] = a.kind == Kind::Partial ? invariant : a;
      return;
    }
    if (s.in1 > -2 && !s.stats_input) a = meeting(s, a, b);
    bool const asked = s.contracts || (s.dispatches && divides_experts(s, to, axis, wish) && a != shard(batch)) ||
                       (s.tie == op::Tie::Has && wish == 't');
    char letter = asked ? wish : follow(s, a, axis);
    if (letter == 'o' && !s.w_at.has('o')) letter = 'c';
    if (letter == 0 && !asked) letter = by_positions(s, a, axis);
    if (letter == 0 && !asked) letter = by_heads(s, a, axis);
    cuts_positions = cuts_positions || (asked && letter == 't');
    bool const each = s.linear && !s.contracts && request.blocks == 1;  // it may be applied to each summand
    if (letter == 0 && a.kind == Kind::Partial && each) {
      to.x.on[axis] = to.x2.on[axis] = to.y.on[axis] = partial;
      return;
    }
    if (letter == 0 && a.kind == Kind::Partial && !s.contracts && may_scatter(to, k, axis))
      letter = follow(s, shard(s.x_at.dim(s.y_at[scattered[axis][k].dim])), axis);
    if (letter == 0) return;  // all are whole
    int const groups = groups_cut(s, to, a, letter, axis);
    bool const sums = s.sums_batch && (letter == 'b' || letter == 't');  // over the batch: it is made whole
    Placement const of_y = sums ? invariant : partial;
    to.x.on[axis] = along(s.x_at, letter, replicate, s.x, groups);
    to.x2.on[axis] = along(s.x2_at, letter, replicate, s.x2, groups);
    to.w.on[axis] = along(s.w_at, letter, replicate, s.w[0].shape, groups, s.w[0].unit);
    to.y.on[axis] = along(s.y_at, letter, of_y, s.y, groups);
  }

  /// Of the micro-batches and of a weight each rank of all axes that cut them has a part. Parts of a weight may differ
  /// by one if the operation keeps zeros.
  constexpr void check_cut(Signature const& s, char const (&wish)[most_axes], int axis) {
    char letter = wish[axis];
    if (letter == 0) return;
    int ranks = mesh.size[axis];
    for (int outer = 0; outer < axis; ++outer)
      ranks *= wish[outer] == letter && mesh.size[outer] > 0 ? mesh.size[outer] : 1;
    if (letter == 'b') {
      if (request.micro_batches < ranks) refuse(Law::Slices, request.micro_batches, ranks, s);
      return;
    }
    if (letter == 't') {
      if (s.windows.reach == 0 && s.x[0] % ranks != 0) refuse(Law::Positions, s.x[0], ranks, s);
      return;
    }
    if (letter == 'o' && !s.w_at.has('o')) letter = 'c';
    int const dim = s.w_at.dim(letter);
    if (dim < 0) return refuse(Law::Letter, letter, 0, s);
    // A product takes an image's pixels together, but its rows are cut where the channels are.
    int const extent = s.w[0].shape[dim] / (dim == 0 ? s.w[0].unit : 1), parts = s.parts(letter, extent);
    if (parts < ranks) return refuse(Law::Parts, parts, ranks, s);
    if (may_share(s, letter, extent, ranks)) return;
    refuse(letter == 'o' ? Law::Columns : letter == 'i' ? Law::Rows : Law::Groups, parts, ranks, s);
  }

  constexpr void check_sums(Signature const& s) {
    if (s.sums_batch && !request.together) refuse(Law::Together, 0, request.micro_batches, s);
    if (s.sums_batch && request.rounds > 1) refuse(Law::Rounds, request.rounds, request.micro_batches, s);
    bool const one = long{request.rows} * s.x.stride(0) == 1;
    if (s.averages > 0 && one && !request.infers) refuse(Law::OneValue, request.rows, request.micro_batches, s);
  }
  constexpr void check_reduced(Signature const& s) {
    bool sum = false;
    for (int a = 0; a < mesh.axes; ++a) sum = sum || value(s.in0, a).kind == Kind::Partial;
    if (!sum && !request.infers) refuse(Law::Written, s.leaf, request.mesh.ways(), s);
  }
};

}  // namespace algebra

/// One axis after the other: they do not see each other but for extents. An axis whose size is known when a run starts
/// cuts the batch of all operations; on the others products cut the letters of `wishes`, and what is between follows.
template <int N>
constexpr Shardings<N> propagate_shardings(Signatures<N> const& model, DeviceMesh const& mesh, Wishes<N> const& wishes,
                                           Request const& request) {
  algebra::Propagation<N> pass{model, mesh, request};
  pass.out.verdict = model.verdict;
  for (int a = 0; a < mesh.axes; ++a) {
    // Only a first layer that reads the input in parts is given parts, or an embedding in front of it, whose table no
    // other layer has; a gradient of the input is whole on all ways.
    int first = 0;
    bool const looks_up = N > 0 && model.op[0].tokens > 0 && model.op[0].tie == op::Tie::None;
    while (looks_up && first + 1 < N && !model.op[first].contracts) ++first;
    bool const parts = mesh.size[a] == 0 || (mesh.size[a] > 1 && wishes.of[first][a] == 'b' && !request.input_gradient);
    if (parts) pass.out.input.on[a] = shard(batch);
    if (mesh.size[a] > 1) pass.look_ahead(a, wishes);
  }
  for (int k = 0; k < N && pass.out.verdict.law == Law::None; ++k) {
    Signature const& s = model.op[k];
    for (int a = 0; a < mesh.axes && s.contracts; ++a) {
      if (mesh.size[a] > 1) pass.check_cut(s, wishes.of[k], a);
    }
    pass.check_sums(s);
    for (int a = 0; a < mesh.axes; ++a) {
      if (mesh.size[a] != 1) pass.place(k, a, mesh.size[a] == 0 ? 'b' : wishes.of[k][a]);
    }
    if (s.written) pass.check_reduced(s);
  }
  if (N > 0 && request.cuts_positions.any() && !pass.cuts_positions)
    pass.refuse(Law::NoPositions, model.op[0].x.dims, 0, model.op[0]);
  return pass.out;
}

/// The wishes of a plan, whose words `letters` are for one axis ('W' or 0: none; '~': rows of what comes in columns,
/// else columns; '^': columns of what comes out of rows, else rows).
template <int N>
constexpr Wishes<N> wishes(Signatures<N> const& model, char const (&letters)[N], Request const& request,
                           int axis = data_axis + 1) {
  Wishes<N> out;
  char from[N + 1]{};  // the letter of the product that an operation's value comes from; of the input, first: none
  for (int k = 0; k < N; ++k) {
    Signature const& s = model.op[k];
    bool const with_reader = s.tie == op::Tie::Has && s.tied >= 0 && letters[s.tied] == 't';
    char const letter = with_reader ? 't' : letters[k];
    auto const comes_from = [&](char l) { return from[s.in0 + 1] == l || (s.in1 >= 0 && from[s.in1 + 1] == l); };
    if (!s.contracts) from[k + 1] = comes_from('o') ? 'o' : from[s.in0 + 1];
    if (!(s.contracts || s.dispatches || with_reader) || request.mesh.size[axis] == 1 || letter == 'W') continue;
    bool const parts = s.windows.reach == 0 || algebra::Propagation<N>::divides_positions(s, request.mesh.size[axis]);
    if (letter == 't' && !(s.y_at.has('t') && parts)) continue;  // it reads no positions, or all
    out.of[k][axis] = letter == '~'   ? (comes_from('o') ? 'i' : 'o')
                      : letter == '^' ? (comes_from('i') ? 'o' : 'i')
                                      : letter;
    from[k + 1] = out.of[k][axis];
  }
  return out;
}

}  // namespace cleave::place
