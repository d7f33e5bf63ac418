// place/axis_set.cpp - sets of axes, and the axes along which a sharding places alike.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave/place/sharding.hpp>

using namespace cleave::place;

static_assert(over_data.has(data_axis) && !over_data.has(1) && AxisSet{0, 2}.has(2) && !AxisSet{0, 2}.has(1));
static_assert(AxisSet{0, 1} == AxisSet{1, 0} && !(AxisSet{2} == AxisSet{}));
static_assert(AxisSet{0, 1, 2} - AxisSet{1, 3} == AxisSet{0, 2});

TEST_CASE("the axes along which a tensor is placed so") {
  Sharding const s{{shard(batch), replicate, shard(batch), shard(1)}};
  CHECK(axes_of(s, shard(batch)) == AxisSet{0, 2});
  CHECK(axes_of(s, replicate) == AxisSet{1});
  CHECK(axes_of(s, shard(1)) == AxisSet{3});
  CHECK(axes_of(s, partial) == AxisSet{});
}
