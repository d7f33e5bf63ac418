// place/one_axis.hpp - the placer as it was when it knew one axis and counted dimensions without the batch, to compare
// with.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cleave/place/place.hpp>

namespace one_axis {
using namespace cleave;
using place::Kind, place::Request, place::Signature, place::Signatures, place::Verdict, place::Law, place::Conversion;

/// The letter at dimension d of a tensor with a batch letter ("bchw": c is 0); '*' after the last.
constexpr char letter_at(std::string_view letters, int d) {
  auto const i = static_cast<std::size_t>(d) + (letters.empty() || letters[0] != 'b' ? 0u : 1u);
  return i < letters.size() ? letters[i] : letters.empty() || letters.back() != '*' ? '?' : '*';
}

/// The dimension of a letter, not counting the batch; -1 if the tensor does not have it.
constexpr int dim_of(std::string_view letters, char letter) {
  auto const i = letters.find(letter);
  if (i == std::string_view::npos) return -1;
  return static_cast<int>(i) - (letters[0] == 'b' ? 1 : 0);
}

constexpr bool has(std::string_view letters, char letter) { return letters.find(letter) != std::string_view::npos; }
constexpr bool may_cut(char letter) { return (letter >= 'a' && letter <= 'z') || letter == '*'; }

struct Placement {
  Kind kind = Kind::Invariant;
  int dim = 0;  // of a Shard: -1 is the batch
  friend constexpr bool operator==(Placement, Placement) = default;
};

inline constexpr int batch = -1;
inline constexpr Placement invariant{}, replicate{Kind::Replicate, 0}, partial{Kind::Partial, 0};
constexpr Placement shard(int dim) { return {Kind::Shard, dim}; }

constexpr Placement gradient(Placement p) {
  if (p.kind == Kind::Replicate) return partial;
  if (p.kind == Kind::Partial) return replicate;
  return p;
}

/// The conversion of a tensor placed `from` to `to`: a rank has the whole, a part, or a summand.
constexpr op::Verb verb(Placement from, Placement to) {
  using enum op::Verb;
  if (to.kind == Kind::Partial) return from.kind == Kind::Partial ? None : Illegal;
  bool const to_part = to.kind == Kind::Shard;
  switch (from.kind) {
    case Kind::Partial:
      return to_part ? ReduceScatter : AllReduce;
    case Kind::Shard:
      return !to_part ? AllGather : from.dim == to.dim ? None : AllToAll;
    default:
      return to_part ? Slice : None;
  }
}

constexpr Conversion convert(Placement from, Placement to) {
  return {verb(from, to), verb(gradient(to), gradient(from))};
}

/// An operation with its placements, or a conversion between two of them.
struct Node {
  int op = -1;             // which operation; -1: a conversion
  int in0 = -1, in1 = -2;  // nodes; -1 the model's input, -2 none
  Placement x, y;          // along the model axis
  Placement w[2];
  Conversion conversion;
  bool rows_cut = false;   // the model axis splits the batch, in addition to the data axis
  bool from_rows = false;  // for a conversion: its input is split by rows
  Shape whole;             // of y, one sample
  op::Local local;
};

template <int Ops> struct Placed {
  Node node[Ops * 3 + 2];
  int count = 0;
  Placement input;  // the placement of the batch that ranks are given
  int last = -1;    // what the loss reads: the model's output
  Verdict verdict;
};

namespace algebra {

/// The largest part. Not as before: parts may be unequal, and of the first dimension of a weight so many are a unit.
constexpr Shape cut(Shape s, Placement p, int ways, int unit = 1) {
  if (p.kind != Kind::Shard || p.dim < 0) return s;
  int const each = p.dim == 0 ? unit : 1, units = s[p.dim] / each;
  return s.with(p.dim, (units + ways - 1) / ways * each);
}

/// The placement of a tensor with these letters, if `letter` is split.
constexpr Placement along(std::string_view letters, char letter, Placement otherwise) {
  if (letter == 0 || !has(letters, letter)) return otherwise;
  return shard(letter == 'b' ? batch : dim_of(letters, letter));
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

template <int Ops> struct Placer {
  Signatures<Ops> const& model;
  op::Equation const* equations;
  Request request;
  Placed<Ops> out{};
  int node_of[Ops + 1]{};

  constexpr op::Equation const& op_of(Signature const& s) const { return equations[&s - model.op]; }
  constexpr Placement placement(int node) const { return node < 0 ? out.input : out.node[node].y; }

  /// The node that holds `from`'s value as `to`; each conversion is created once, however many read it.
  constexpr int converted(int from, Placement to, Shape whole_shape) {
    Placement const have = placement(from);
    if (have == to || (from < 0 && !request.input_gradient && have == invariant && to == replicate)) return from;
    for (int k = from + 1; k < out.count; ++k) {
      if (out.node[k].op < 0 && out.node[k].in0 == from && out.node[k].y == to) return k;
    }
    Node n;
    n.in0 = from;
    n.x = have;
    n.y = to;
    n.conversion = convert(have, to);
    n.rows_cut = to == shard(batch);
    n.from_rows = have == shard(batch);
    n.whole = whole_shape;
    n.local.rows = request.rows;
    n.local.x = cut(whole_shape, have, request.mesh.size[1]);
    n.local.y = cut(whole_shape, to, request.mesh.size[1]);
    out.node[out.count] = n;
    return out.count++;
  }

  /// An operation without a placement keeps the split of its input if its equation permits, and otherwise needs it
  /// whole.
  constexpr char follow(Signature const& s, Placement p) const {
    if (p.kind != Kind::Shard) return 0;
    if (p.dim == batch) return 'b';
    char const letter = letter_at(op_of(s).x, p.dim);
    return may_cut(letter) && (letter == '*' || s.parts(letter, request.mesh.size[1]) % request.mesh.size[1] == 0)
               ? letter
               : '\0';
  }

  constexpr void place(Signature const& s, int op, char wanted) {
    int in0 = s.in0 < 0 ? -1 : node_of[s.in0];
    int in1 = s.in1 < 0 ? s.in1 : node_of[s.in1];
    if (s.sums_batch && !request.together) {
      out.verdict = {Law::Together, 0, request.micro_batches, s.leaf};
      return;
    }
    if (s.sums_batch && request.rounds > 1) {
      out.verdict = {Law::Rounds, request.rounds, request.micro_batches, s.leaf};
      return;
    }
    {
      Placement const p = placement(in0);
      bool const partial_second = in1 > -2 && placement(in1).kind == Kind::Partial;
      if ((p.kind == Kind::Partial || partial_second) && request.written && !s.linear) {
        out.verdict = {Law::Nonlinear, s.leaf, request.mesh.size[1], s.leaf};
        return;
      }
      if (p.kind == Kind::Partial && request.written && s.contracts) {
        out.verdict = {Law::Summed, s.leaf, request.mesh.size[1], s.leaf};
        return;
      }
      if (s.written) {
        if (p.kind != Kind::Partial) {
          out.verdict = {Law::Written, s.leaf, request.mesh.size[1], s.leaf};
          return;
        }
        node_of[op] = converted(in0, invariant, s.x);
        return;
      }
    }
    Node n;
    n.op = op;
    if (in1 >= -1 && !s.stats_input) {
      Placement const meet = meeting(s, placement(in0), placement(in1));  // a join: both sides alike
      in0 = converted(in0, meet, s.x);
      in1 = converted(in1, meet, s.x2);
      if (meet.kind == Kind::Partial) {
        finish(n, s, op, in0, in1, '\0', partial);
        return;
      }
    }
    char letter = s.contracts ? wanted : follow(s, placement(in0));
    if (letter == 'o' && !has(op_of(s).w, 'o')) letter = 'c';
    if (letter == '*') {  // a free letter of an element-wise operation: it has no name, only a dimension
      finish(n, s, op, in0, in1, '*', placement(in0));
      return;
    }
    Placement const demand =
        letter == 0 ? (placement(in0).kind == Kind::Partial && s.linear && !s.contracts ? partial : invariant)
                    : along(op_of(s).x, letter, replicate);
    in0 = converted(in0, demand, s.x);
    Placement const y = s.sums_batch  ? (letter == 'b' || letter == 0 ? invariant : shard(1))
                        : letter == 0 ? demand
                                      : along(op_of(s).y, letter, partial);
    finish(n, s, op, in0, in1, letter, y);
  }

  constexpr Placement meeting(Signature const& s, Placement a, Placement b) const {
    Placement const candidates[] = {a, b, invariant};
    Placement best = invariant;
    long least = 1L << 61;
    for (Placement c : candidates) {
      if (c.kind == Kind::Shard && c.dim >= 0 && !may_cut(letter_at(op_of(s).x, c.dim))) continue;
      if (c.kind == Kind::Partial && (!s.linear || request.written)) continue;
      long const total = cost(a, c, s.x.size()) + cost(b, c, s.x2.size());
      if (total < least) {
        least = total;
        best = c;
      }
    }
    return best;
  }

  constexpr void finish(Node n, Signature const& s, int op, int in0, int in1, char letter, Placement y) {
    n.in0 = in0;
    n.in1 = in1;
    n.x = placement(in0);
    n.y = y;
    n.whole = s.y;
    n.rows_cut = letter == 'b';
    n.local.rows = request.rows;
    n.local.batch = request.rows * request.micro_batches;
    n.local.x = cut(s.x, n.x, request.mesh.size[1]);
    n.local.x2 = in1 == -2 ? Shape{} : cut(s.x2, placement(in1), request.mesh.size[1]);
    n.local.y = cut(s.y, y, request.mesh.size[1]);
    for (int k = 0; k < s.weights; ++k) {
      n.w[k] = letter == '*' ? invariant : along(op_of(s).w, letter, letter == 'b' ? replicate : invariant);
      (k == 0 ? n.local.w0 : n.local.w1) = cut(s.w[k].shape, n.w[k], request.mesh.size[1], s.w[k].unit);
    }
    if (s.is_loss) out.last = in0;
    out.node[out.count] = n;
    node_of[op] = out.count++;
  }
};

constexpr Verdict cut_law(Signature const& s, op::Equation const& e, char letter, Request const& r) {
  if (letter == 0) return {};
  if (letter == 'b') {
    return r.micro_batches >= r.mesh.size[1] ? Verdict{}
                                             : Verdict{Law::Slices, r.micro_batches, r.mesh.size[1], s.leaf};
  }
  if (letter == 'o' && !has(e.w, 'o')) letter = 'c';
  int const dim = dim_of(e.w, letter);
  if (!has(e.w, letter)) return {Law::Letter, letter, 0, s.leaf};
  // Not as before: an image's pixels are cut where its channels are, and parts may be unequal.
  int const extent = s.w[0].shape[dim] / (dim == 0 ? s.w[0].unit : 1), parts = s.parts(letter, extent);
  if (parts < r.mesh.size[1]) return {Law::Parts, parts, r.mesh.size[1], s.leaf};
  if (parts % r.mesh.size[1] == 0 || (s.linear && parts == extent)) return {};
  return {letter == 'o' ? Law::Columns : letter == 'i' ? Law::Rows : Law::Groups, parts, r.mesh.size[1], s.leaf};
}

}  // namespace algebra

/// `letters[k]` is the split that the plan asks of operation k ('W' or 0: none; '~': rows if the last
/// product before it, on some way, was cut by columns, else columns).
template <int N>
constexpr Placed<N> place(Signatures<N> const& model, op::Equation const* equations, char const (&letters)[N],
                          Request request) {
  algebra::Placer<N> placer{model, equations, request};
  placer.out.verdict = model.verdict;
  bool columns[N]{};  // the last product on some way to operation k was, or k is one
  auto const behind_columns = [&](int in) { return in >= 0 && columns[in]; };
  int first = 0;
  while (first + 1 < N && !model.op[first].contracts) ++first;
  bool const looks_up = model.op[0].tokens > 0 && model.op[0].tie == op::Tie::None && request.mesh.size[1] > 1;
  if (looks_up && !request.input_gradient && letters[first] == 'b') placer.out.input = shard(batch);
  for (int k = 0; k < N && placer.out.verdict.law == Law::None; ++k) {
    Signature const& s = model.op[k];
    char letter = 0;
    bool const rows_next = behind_columns(s.in0) || behind_columns(s.in1);
    columns[k] = !s.contracts && rows_next;
    if (s.contracts && request.mesh.size[1] > 1) {
      letter = letters[k] == 'W' ? '\0' : letters[k] == '~' ? (rows_next ? 'i' : 'o') : letters[k];
      columns[k] = letter == 'o';
      placer.out.verdict = algebra::cut_law(s, equations[k], letter, request);
      if (placer.out.verdict.law != Law::None) break;
      // Only before any node has read the input in another placement.
      if (k == 0 && !request.input_gradient && letter == 'b') placer.out.input = shard(batch);
    }
    placer.place(s, k, letter);
  }
  return placer.out;
}

}  // namespace one_axis
