// place/placement.cpp - every conversion and its adjoint: nine rows, none of them written down in the library.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave/place/placement.hpp>

using namespace cleave;
using namespace cleave::place;
using enum op::Verb;

static_assert(gradient(shard(0)) == shard(0) && gradient(replicate) == partial && gradient(partial) == replicate &&
              gradient(invariant) == invariant);

static_assert(convert(invariant, replicate) == Conversion{None, AllReduce});  // weights under data parallelism
static_assert(convert(partial, invariant) == Conversion{AllReduce, None});    // out of a row split
static_assert(convert(shard(1), invariant) == Conversion{AllGather, Slice});  // "stack" after a column split
static_assert(convert(invariant, shard(1)) == Conversion{Slice, AllGather});  // into a row split
static_assert(convert(shard(batch), replicate) == Conversion{AllGather, ReduceScatter});  // ZeRO-3; batch into columns
static_assert(convert(partial, shard(batch)) == Conversion{ReduceScatter, AllGather});    // sequence out of rows
static_assert(convert(shard(1), shard(batch)) == Conversion{AllToAll, AllToAll});         // experts
static_assert(convert(partial, replicate) == Conversion{AllReduce, AllReduce});
static_assert(convert(shard(0), shard(0)) == Conversion{None, None});
static_assert(!convert(invariant, partial).legal() && !convert(shard(0), partial).legal());
static_assert(!convert(replicate, invariant).legal());  // its gradient would be a sum that nobody takes

TEST_CASE("the adjoint of the adjoint is the conversion") {
  Placement const all[] = {invariant, replicate, partial, shard(batch), shard(1), shard(2)};
  int legal = 0;
  for (Placement a : all) {
    CHECK(gradient(gradient(a)) == a);
    for (Placement b : all) {
      Conversion const there = convert(a, b), back = convert(gradient(b), gradient(a));
      CHECK(there.forward == back.backward);
      CHECK(there.backward == back.forward);
      legal += there.legal();
    }
  }
  CHECK(legal > 20);
}
