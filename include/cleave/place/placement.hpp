// place/placement.hpp - where a tensor lives along one axis of the mesh: split, copied, kept equal, or a partial sum.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../op/verb.hpp"

namespace cleave::place {

///            a tensor is                                       its gradient is
///  Shard      split along one dimension                         Shard
///  Replicate  copied; every rank uses a separate copy           Partial
///  Invariant  one value, kept equal everywhere                  Invariant
///  Partial    the value is the sum over the ranks               Replicate
enum class Kind : unsigned char { Invariant, Replicate, Shard, Partial };

struct Placement {
  Kind kind = Kind::Invariant;
  int dim = 0;   // of a Shard: counts all dimensions of the tensor, its batch too
  int unit = 1;  // of a Shard in unequal parts of groups: so many indices of the dimension stay together
  friend constexpr bool operator==(Placement, Placement) = default;
};

inline constexpr int batch = 0;  // dimension of every tensor of samples
inline constexpr Placement invariant{}, replicate{Kind::Replicate, 0}, partial{Kind::Partial, 0};
constexpr Placement shard(int dim, int unit = 1) { return {Kind::Shard, dim, unit}; }
constexpr bool is_shard(Placement p, int dim) { return p.kind == Kind::Shard && p.dim == dim; }

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
      return !to_part ? AllGather : from == to ? None : AllToAll;
    default:
      return to_part ? Slice : None;
  }
}

/// A conversion and its adjoint. The backward pass asks the same question of the gradients, so there is no second
/// table: Invariant to Replicate moves nothing forward, and its gradient is converted from Partial to Invariant, an
/// all-reduce.
struct Conversion {
  op::Verb forward = op::Verb::None, backward = op::Verb::None;
  constexpr bool legal() const { return forward != op::Verb::Illegal && backward != op::Verb::Illegal; }
  friend constexpr bool operator==(Conversion, Conversion) = default;
};
constexpr Conversion convert(Placement from, Placement to) {
  return {verb(from, to), verb(gradient(to), gradient(from))};
}

}  // namespace cleave::place
