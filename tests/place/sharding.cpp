// place/sharding.cpp - conversions over several axes, done on arrays: each ends in what its sharding means, or is refused
// because no order of its axes would.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>

#include "ranks.hpp"

using namespace cleave;
using namespace cleave::place;
using enum op::Verb;

namespace {

constexpr DeviceMesh by_four{2, 4}, cube{2, 2, 2}, replicas{0, 4};
constexpr Sharding sharding(Placement a, Placement b, Placement c = invariant) { return {{a, b, c}}; }

/// Whether the verbs and axes are these, in order.
constexpr bool is(ConversionPlan const& p, op::Verb first, int axis) {
  return p.legal && p.steps == 1 && p.step[0].verb == first && p.step[0].axis == axis;
}
constexpr bool is(ConversionPlan const& p, op::Verb first, int axis, op::Verb second, int other) {
  return p.legal && p.steps == 2 && p.step[0].verb == first && p.step[0].axis == axis && p.step[1].verb == second &&
         p.step[1].axis == other;
}

// Along one axis as its two placements say, whatever the other axis has; also beside an axis of unknown size.
static_assert(is(plan_conversion(sharding(shard(0), partial), sharding(shard(0), invariant), by_four), AllReduce, 1));
static_assert(is(plan_conversion(sharding(shard(0), shard(1)), sharding(shard(0), shard(0)), replicas), AllToAll, 1));
static_assert(plan_conversion(sharding(shard(0), shard(1)), sharding(shard(0), shard(1)), by_four).steps == 0);
// What shrinks comes first: a scatter of sums before a gather.
static_assert(is(plan_conversion(sharding(shard(0), partial), sharding(replicate, shard(1)), by_four), ReduceScatter, 1,
                 AllGather, 0));
// A dimension cut by both axes: the inner one is gathered first, the outer one is cut first.
static_assert(is(plan_conversion(sharding(shard(0), shard(0)), sharding(invariant, invariant), by_four), AllGather, 1,
                 AllGather, 0));
static_assert(is(plan_conversion(sharding(invariant, invariant), sharding(shard(0), shard(0)), by_four), Slice, 0,
                 Slice, 1));
// The adjoint is the plan of the gradients, in reverse.
static_assert(is(plan_conversion(sharding(invariant, replicate), sharding(shard(0), partial), by_four), None, 0) ==
              false);
static_assert(is(plan_conversion(gradient(sharding(replicate, shard(1))), gradient(sharding(shard(0), partial)),
                                 by_four),
                 ReduceScatter, 0, AllGather, 1));
// Refused: an outer axis under an inner one that stays; three axes; a whole value as a summand.
static_assert(!plan_conversion(sharding(shard(0), shard(0)), sharding(invariant, shard(0)), by_four).legal);
static_assert(!plan_conversion(sharding(shard(1), shard(0)), sharding(shard(0), shard(0)), by_four).legal);
static_assert(
    !plan_conversion(sharding(partial, partial, partial), sharding(invariant, invariant, invariant), cube).legal);
static_assert(!plan_conversion(sharding(invariant, shard(0)), sharding(partial, shard(0)), by_four).legal);

/// Changes the axes in this order: whether the ranks then hold `whole` as `to` says, and after each of them as the
/// sharding so far says.
/// `sent` is what a rank sends on the way.
bool arrives(Ranks const& ranks, Sharding have, Sharding const& to, std::vector<int> const& axes, Array const& whole,
             double& sent) {
  std::vector<Array> values = ranks.all(have, whole);
  bool right = true;
  for (int const axis : axes) {
    Sharding next = have;
    next.on[axis] = to.on[axis];
    op::Verb const verb = place::verb(have.on[axis], next.on[axis]);
    auto const before = static_cast<double>(values[0].size());
    values = ranks.run(verb, axis, have, next, values);
    auto const after = static_cast<double>(values[0].size());
    double const n = ranks.mesh.size[axis];
    sent += (n - 1) * (verb == AllGather       ? before
                       : verb == ReduceScatter ? after
                       : verb == AllReduce     ? 2 * before / n
                       : verb == AllToAll      ? after / n
                                               : 0);
    have = next;
    right = right && ranks.right(have, values, whole);
  }
  return right && have == to;
}

struct Counts {
  int legal = 0, nested = 0, three = 0, never = 0, swapped = 0, cheaper = 0;
};
Counts each_conversion(Ranks const& ranks) {
  Array whole, slopes;
  for (int e = 0; e < Ranks::side * Ranks::side; ++e) {
    whole.push_back(1000 + e * e % 89);
    slopes.push_back(500 - e * 3);
  }
  Placement const kinds[] = {invariant, replicate, partial, shard(0), shard(1)};
  std::vector<Sharding> all;
  int const third = ranks.mesh.axes > 2 ? 5 : 1;
  for (int i = 0; i < 25 * third; ++i) all.push_back(sharding(kinds[i % 5], kinds[i / 5 % 5], kinds[i / 25]));
  Counts n;
  bool good = true;
  for (Sharding const& from : all) {
    for (Sharding const& to : all) {
      ConversionPlan const plan = plan_conversion(from, to, ranks.mesh);
      std::vector<int> axes, back;
      double sent = 0;
      bool pairs = true;
      for (int a = 0; a < ranks.mesh.axes; ++a) {
        if (from.on[a] == to.on[a]) continue;
        axes.push_back(a);
        pairs = pairs && convert(from.on[a], to.on[a]).legal();
      }
      if (!pairs || axes.size() > 2) {
        good = good && !plan.legal;
        ++(pairs ? n.three : n.never);
        continue;
      }
      if (!plan.legal) {  // in no order
        ++n.nested;
        good = good && !arrives(ranks, from, to, axes, whole, sent);
        if (axes.size() > 1) good = good && !arrives(ranks, from, to, {axes[1], axes[0]}, whole, sent);
        continue;
      }
      ++n.legal;
      n.swapped += plan.steps == 2 && plan.step[0].axis > plan.step[1].axis;
      good = good && plan.steps == static_cast<int>(axes.size());
      axes.clear();
      for (int i = 0; i < plan.steps; ++i) {
        axes.push_back(plan.step[i].axis);
        back.insert(back.begin(), plan.step[i].axis);
        good = good && plan.step[i].verb == verb(from.on[axes.back()], to.on[axes.back()]);
      }
      good = good && arrives(ranks, from, to, axes, whole, sent);
      good = good && arrives(ranks, gradient(to), gradient(from), back, slopes, sent);
      double other = 0;  // in the other order, which is `back`
      if (axes.size() > 1 && arrives(ranks, from, to, back, whole, other)) {
        good = good && arrives(ranks, gradient(to), gradient(from), axes, slopes, other) && sent <= other;
        n.cheaper += sent < other;
      }
    }
  }
  CHECK(good);
  return n;
}

}  // namespace

TEST_CASE("every conversion on 2 x 4 ranks means what its shardings say, forward and back") {
  Counts const n = each_conversion({by_four});
  CHECK(n.legal > 200);
  CHECK(n.nested > 0);
  CHECK(n.swapped > 0);
  CHECK(n.cheaper > 0);
  CHECK(n.three == 0);
  MESSAGE(n.legal, " legal, ", n.swapped, " of them from the inner axis; refused: ", n.nested, " without an order, ",
          n.never, " into a summand");
}

TEST_CASE("every conversion on 2 x 2 x 2 ranks means what its shardings say, forward and back") {
  Counts const n = each_conversion({cube});
  CHECK(n.legal > 2000);
  CHECK(n.nested > 0);
  CHECK(n.three > 0);
  MESSAGE(n.legal, " legal, ", n.swapped, " of them from the inner axis; refused: ", n.nested, " without an order, ",
          n.three, " along three axes, ", n.never, " into a summand");
}
