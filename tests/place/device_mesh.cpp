// place/device_mesh.cpp - ranks and their coordinates along any number of axes.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave/place/device_mesh.hpp>

using namespace cleave::place;

static_assert(DeviceMesh().world() == 1 && DeviceMesh{4}.ways() == 1 && DeviceMesh{3, 2, 4}.ways() == 8);
static_assert(DeviceMesh{0, 2, 2}.with_replicas(3) == DeviceMesh{3, 2, 2} && DeviceMesh{0, 2, 2}.ways() == 4);
static_assert(DeviceMesh{3, 2, 4}.all() == AxisSet{0, 1, 2} && DeviceMesh{3, 2, 4}.of_replica() == AxisSet{1, 2});
// 13 = 1 * 8 + 1 * 4 + 1
static_assert(DeviceMesh{3, 2, 4}.coordinate(13, 0) == 1 && DeviceMesh{3, 2, 4}.coordinate(13, 1) == 1 &&
              DeviceMesh{3, 2, 4}.coordinate(13, 2) == 1);
// Replicas are outermost: no rank's coordinates in its replica depend on their number.
static_assert(DeviceMesh{0, 2, 4}.coordinate(7, 1) == 1 && DeviceMesh{0, 2, 4}.index(7, {1, 2}) == 7);

TEST_CASE("an index in a group is that of one member of the group of rank 0, and of one of every other group") {
  for (DeviceMesh const& mesh : {DeviceMesh{3, 2}, DeviceMesh{3, 2, 4}, DeviceMesh{1, 3, 1, 2}}) {
    for (unsigned bits = 0; bits < 1u << mesh.axes; ++bits) {
      AxisSet over;
      over.bits = bits;
      AxisSet const others = mesh.all() - over;
      CHECK(mesh.group_size(over) * mesh.group_size(others) == mesh.world());
      for (int i = 0; i < mesh.group_size(over); ++i) {
        CHECK(mesh.index(mesh.member(i, over), over) == i);
        CHECK(mesh.index(mesh.member(i, over), others) == 0);
      }
      for (int rank = 0; rank < mesh.world(); ++rank)
        CHECK(mesh.member(mesh.index(rank, over), over) + mesh.member(mesh.index(rank, others), others) == rank);
    }
  }
}
TEST_CASE("stages have such a mesh each, one after the other") {
  DeviceMesh mesh{2, 3};
  mesh.stages = 4;
  CHECK(mesh.world() == 24);
  CHECK(mesh.ranks_of_stage() == 6);
  CHECK(mesh.ranks_of_replica() == 12);
  CHECK(mesh.stage(13) == 2);
  CHECK(mesh.at_stage(13, 0) == 1);
  CHECK(mesh.at_stage(1, 3) == 19);
  for (int rank = 0; rank < mesh.world(); ++rank) {
    for (int axis : {0, 1}) CHECK(mesh.coordinate(rank, axis) == DeviceMesh{2, 3}.coordinate(rank % 6, axis));
    CHECK(mesh.index(rank, {0, 1}) == DeviceMesh{2, 3}.index(rank % 6, {0, 1}));
  }
}
