// plan/policies.cpp - each word says one kind of thing, and what it says by default.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave/plan/find.hpp>
#include <cleave/plan/policies.hpp>

using namespace cleave;

static_assert(plan::is_kind<plan::RoundKind, Accumulate<4>> && Accumulate<4>::rounds == 4);
static_assert(plan::is_kind<plan::ModelKind, OneWeirdTrick<4>> && plan::is_kind<plan::ModelKind, ModelParallel<Whole>>);
static_assert(OneWeirdTrick<4>::convolutions == 'b' && OneWeirdTrick<4>::products == '~' &&
              OneWeirdTrick<4>::ways == 4);
static_assert(ModelParallel<SplitRows>::ways == 0);  // the plan's number, then
static_assert(ModelParallel<SplitCols, Ways<8>>::ways == 8 && ModelParallel<SplitCols>::products == 'o');
static_assert(Mesh<Data<3>>::ways == 1 && Mesh<Data<3>, Model<2>>::ways == 2 && Mesh<Data<3>>::replicas == 3);
static_assert(Ordered::ordered && !Fastest::ordered);

TEST_CASE("no word is of two kinds") {
  CHECK(plan::said<plan::BatchKind, Batch<1>, MicroBatches<1>, Accumulate<1>, Ordered> == 1);
  CHECK(plan::said<plan::SumKind, Batch<1>, MicroBatches<1>, Accumulate<1>, Ordered> == 1);
}
