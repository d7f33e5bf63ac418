// place/sharding.hpp - a tensor's placement along every axis of a mesh, and the conversions from one such to another.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "device_mesh.hpp"
#include "placement.hpp"

namespace cleave::place {

/// Axes do not see each other: the meaning is the product of the placements. A dimension that several axes cut is cut
/// by the outermost first, and each of its parts by the next.
struct Sharding {
  Placement on[most_axes];
  friend constexpr bool operator==(Sharding const&, Sharding const&) = default;
};
/// The axes along which it has this placement.
constexpr AxisSet axes_of(Sharding const& s, Placement p) {
  AxisSet out;
  for (int a = 0; a < most_axes; ++a) {
    if (s.on[a] == p) out.bits |= 1u << a;
  }
  return out;
}
/// The dimension along which axes cut a sample; `batch` if none does, -1 if they cut it along different ones.
constexpr int sample_dim(Sharding const& s) {
  int dim = batch;
  for (Placement const& p : s.on) {
    if (p.kind != Kind::Shard || p.dim == batch) continue;
    if (dim != batch && dim != p.dim) return -1;
    dim = p.dim;
  }
  return dim;
}
/// The last dimension along which axes cut a sample; the first if along none.
constexpr int dim_cut(Sharding const& s) {
  int dim = batch + 1;
  for (Placement const& p : s.on) dim = p.kind == Kind::Shard && p.dim > dim ? p.dim : dim;
  return dim;
}
/// Whether they cut a sample along one dimension at most, or along the first and one more.
constexpr bool cuts_one_besides_the_first(Sharding const& s) {
  bool does = true;
  for (Placement const& p : s.on) does = does && (p.kind != Kind::Shard || p.dim <= batch + 1 || p.dim == dim_cut(s));
  return does;
}
/// The axes along which they differ.
constexpr AxisSet changed(Sharding const& a, Sharding const& b) {
  AxisSet out;
  for (int axis = 0; axis < most_axes; ++axis) {
    if (!(a.on[axis] == b.on[axis])) out.bits |= 1u << axis;
  }
  return out;
}
constexpr Sharding gradient(Sharding s) {
  for (Placement& p : s.on) p = gradient(p);
  return s;
}

/// Conversions along one axis each, in order.
struct ConversionPlan {
  static constexpr int most = 2;
  struct {
    op::Verb verb = op::Verb::None;
    int axis = 0;
  } step[most];
  int steps = 0;
  bool legal = true;
};

namespace algebra {

/// Whether `axis` can change while the others stay: not where an inner axis cuts the same dimension, since the parts
/// would have to be cut anew.
constexpr bool may_change(Sharding const& have, int axis, Placement to, DeviceMesh const& mesh) {
  for (int inner = axis + 1; inner < mesh.axes; ++inner) {
    Placement const p = have.on[inner];
    if (p.kind == Kind::Shard && (is_shard(have.on[axis], p.dim) || is_shard(to, p.dim))) return false;
  }
  return true;
}

/// The fraction of a tensor that a rank holds, of a multiple that all fractions divide.
constexpr long held(Sharding const& s, DeviceMesh const& mesh) {
  long part = 1;
  for (int a = 0; a < mesh.axes; ++a) {
    int const n = mesh.size[a] > 0 ? mesh.size[a] : 1;
    part *= s.on[a].kind == Kind::Shard ? n : long{n} * n;
  }
  return part;
}
/// What a rank sends in a conversion over n ranks, in the same unit.
constexpr long sent_by_rank(op::Verb v, long before, long after, int n) {
  using enum op::Verb;
  return v == AllGather       ? (n - 1) * before
         : v == ReduceScatter ? (n - 1) * after
         : v == AllReduce     ? 2 * (n - 1) * (before / n)
         : v == AllToAll      ? (n - 1) * (after / n)
                              : 0;
}

/// The conversions in this order of axes, and what a rank sends forward and backward; -1 if the order is not legal.
constexpr long cost_in_order(Sharding have, Sharding const& to, DeviceMesh const& mesh, int first, int second) {
  long sent = 0;
  for (int const axis : {first, second}) {
    if (!may_change(have, axis, to.on[axis], mesh)) return -1;
    Conversion const c = convert(have.on[axis], to.on[axis]);
    long const before = held(have, mesh);
    have.on[axis] = to.on[axis];
    long const after = held(have, mesh);
    sent += sent_by_rank(c.forward, before, after, mesh.size[axis]) +
            sent_by_rank(c.backward, after, before, mesh.size[axis]);
  }
  return sent;
}

/// What makes a tensor smaller comes first, what makes it larger last.
constexpr int turn(op::Verb v) {
  using enum op::Verb;
  return v == Slice ? 0 : v == ReduceScatter ? 1 : v == AllToAll ? 2 : v == AllGather ? 4 : 3;
}

}  // namespace algebra

/// The conversions from one sharding to another: of the legal orders of the axes that change the one in which ranks
/// send least, and of equal ones that in which tensors are smallest. Not legal if more than two axes change, if an
/// outer axis changes under an inner one that cuts the same dimension and stays, or if a tensor would have to become a
/// partial sum.
constexpr ConversionPlan plan_conversion(Sharding const& from, Sharding const& to, DeviceMesh const& mesh) {
  ConversionPlan out;
  for (int a = 0; a < mesh.axes; ++a) {
    if (from.on[a] == to.on[a]) continue;
    Conversion const c = convert(from.on[a], to.on[a]);
    out.legal = out.legal && c.legal() && out.steps < ConversionPlan::most;
    if (!out.legal) return out;
    out.step[out.steps].verb = c.forward;
    out.step[out.steps++].axis = a;
  }
  if (out.steps == 1) out.legal = algebra::may_change(from, out.step[0].axis, to.on[out.step[0].axis], mesh);
  if (out.steps < 2) return out;
  auto const outer = out.step[0], inner = out.step[1];
  bool const known = mesh.size[outer.axis] > 0 && mesh.size[inner.axis] > 0;
  long const as_is = algebra::cost_in_order(from, to, mesh, outer.axis, inner.axis);
  long const swapped = algebra::cost_in_order(from, to, mesh, inner.axis, outer.axis);
  out.legal = as_is >= 0 || swapped >= 0;
  bool const inner_first = algebra::turn(inner.verb) < algebra::turn(outer.verb) ||
                           (inner.verb == outer.verb && inner.verb == op::Verb::AllGather);
  if (swapped >= 0 && (as_is < 0 || (known && swapped != as_is ? swapped < as_is : inner_first))) {
    out.step[0] = inner;
    out.step[1] = outer;
  }
  return out;
}

}  // namespace cleave::place
