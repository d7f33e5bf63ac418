// backend/host/communication/member.cpp - where a rank stands on each axis, whom it meets there, and what it counts.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave/backend/host/communication/member.hpp>

using namespace cleave;
using namespace cleave::backend::host;

namespace {
Member member(World& world, int rank) {
  Member m;
  m.world = &world;
  m.rank = rank;
  m.received.assign(static_cast<std::size_t>(world.ranks().world()), 0);
  m.received_bytes = m.received;
  return m;
}
}  // namespace

TEST_CASE("rank = replica x ways + way") {
  World world({3, 2}, 1);
  for (int r = 0; r < 6; ++r) {
    Member const m = member(world, r);
    CHECK(m.replica() == r / 2);
    CHECK(m.way() == r % 2);
    for (schedule::AxisSet over : {schedule::AxisSet{0}, schedule::AxisSet{1}, schedule::AxisSet{0, 1}}) {
      schedule::RankGroup const group = m.group(over);
      CHECK(group.rank(group.mine) == r);
      for (int i = 0; i < group.size; ++i) {
        Member const other = member(world, group.rank(i));
        CHECK(other.group(over).mine == i);
        if (!over.has(1)) CHECK(other.way() == m.way());
        if (!over.has(0)) CHECK(other.replica() == m.replica());
      }
    }
  }
}

TEST_CASE("what a rank reads from itself is not counted") {
  World world({2, 1}, 1);
  Member m = member(world, 0);
  m.read_from(0, 100, 4);
  m.read_from(1, 10, 2);
  m.read_from(1, 1, 4);
  CHECK(m.received == std::vector<long>{0, 11});
  CHECK(m.received_bytes == std::vector<long>{0, 24});
}

TEST_CASE("a mark of one round is none of the next") {
  World world({1, 1}, 2);
  Member m = member(world, 0);
  m.round = 1;
  m.reach(1, 3);
  CHECK(m.has_reached(0, 1, 3));
  CHECK(m.have_reached({0}, 1, Member::marks + 3));
  CHECK(!m.have_reached({0}, 0, Member::marks + 1));
  CHECK(m.have_reached({}, 0, 1));
  m.round = 2;
  CHECK(!m.has_reached(0, 1, 1));
  CHECK(!m.have_reached({0}, 1, 2 * Member::marks + 1));
}

TEST_CASE("slices in rounds: the ways of a replica share those of its round") {
  World world({2, 2}, 1);
  schedule::Share const share{16, {2, 2}, 2};
  CHECK(member(world, 3).slices(share, {0}, 1) == schedule::Range{12, 16});
  CHECK(member(world, 3).slices(share, {0, 1}, 1) == schedule::Range{14, 16});
  CHECK(member(world, 2).slices(share, {0, 1}, 0) == schedule::Range{8, 10});
}
