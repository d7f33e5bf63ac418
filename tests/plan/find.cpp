// plan/find.cpp - one policy of a kind, in any order.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave/plan/find.hpp>
#include <cleave/plan/policies.hpp>

using namespace cleave;

TEST_CASE("found or not") {
  static_assert(std::is_same_v<plan::find<plan::BatchKind, void, Momentum, Batch<3>>, Batch<3>>);
  static_assert(std::is_same_v<plan::find<plan::BatchKind, void, Momentum>, void>);
  static_assert(plan::said<optim::OptimizerKind, Momentum, Batch<3>, Adam> == 2);
  static_assert(plan::is_kind<plan::SumKind, Ordered> && !plan::is_kind<plan::SumKind, int>);
  CHECK(plan::Policy<Batch<1>>);
}
