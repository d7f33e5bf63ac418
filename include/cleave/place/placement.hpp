// place/placement.hpp - where a tensor lives along one axis of the mesh: cut, copied, held equal, or a sum not yet taken.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../op/verb.hpp"

namespace cleave::place {

///            a tensor is                                       its gradient is
///  Shard      cut along one dimension                           Shard
///  Replicate  copied; every rank uses its own copy              Partial
///  Invariant  one value, held equal everywhere                  Invariant
///  Partial    the value is the sum over the ranks               Replicate
enum class Kind : unsigned char { Invariant, Replicate, Shard, Partial };

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

/// What must be done to a tensor placed `from` so that it is placed `to`: a rank has the whole, a part, or a summand.
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

/// A conversion and its adjoint. The way back is the same question asked of the gradients, so there is no second table:
/// Invariant to Replicate moves nothing forward, and its gradients go Partial to Invariant, an all-reduce.
struct Conversion {
  op::Verb forward = op::Verb::None, backward = op::Verb::None;
  constexpr bool legal() const { return forward != op::Verb::Illegal && backward != op::Verb::Illegal; }
  friend constexpr bool operator==(Conversion, Conversion) = default;
};
constexpr Conversion convert(Placement from, Placement to) {
  return {verb(from, to), verb(gradient(to), gradient(from))};
}

}  // namespace cleave::place
