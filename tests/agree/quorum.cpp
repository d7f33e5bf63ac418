// agree/quorum.cpp - one event at a time.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cleave/agree/quorum.hpp"

#include <doctest/doctest.h>

#include <vector>

using namespace cleave::agree;

namespace {
Quorum<4> three_of_four() {
  Quorum<4> q;
  q.quorum = 3;
  for (int w = 0; w < 4; ++w) {
    Actions<4> out;
    q.hear({Heard::Joined, w, 1}, out);
  }
  return q;
}
std::vector<Done> hear(Quorum<4>& q, Event e) {
  Actions<4> out;
  q.hear(e, out);
  std::vector<Done> done;
  for (Action const& a : out) done.push_back(a.what);
  return done;
}
}  // namespace

TEST_CASE(
    "with one spare of four, the third gradient makes the update; the fourth is dropped and gets the new version") {
  Quorum<4> q = three_of_four();
  CHECK(hear(q, {Heard::Pushed, 2, 1, 0}) == std::vector{Done::Take});
  CHECK(hear(q, {Heard::Pushed, 0, 1, 0}) == std::vector{Done::Take});
  CHECK(hear(q, {Heard::Pushed, 3, 1, 0}) ==
        std::vector{Done::Take, Done::Update, Done::Grant, Done::Grant, Done::Grant, Done::Grant});
  CHECK(q.version == 1);
  CHECK(hear(q, {Heard::Pushed, 1, 1, 0}) == std::vector{Done::Drop, Done::Grant});
}
TEST_CASE("a worker's second gradient of a step does not count") {
  Quorum<4> q = three_of_four();
  hear(q, {Heard::Pushed, 2, 1, 0});
  CHECK(hear(q, {Heard::Pushed, 2, 1, 0}) == std::vector{Done::Drop, Done::Grant});
  CHECK(q.taken == 1);
}
TEST_CASE("fewer live than the quorum is told at once, and once") {
  Quorum<4> q = three_of_four();
  CHECK(hear(q, {Heard::Left, 1, 1}).empty());
  CHECK(hear(q, {Heard::Left, 0, 1}) == std::vector{Done::Fail});
  CHECK(hear(q, {Heard::Left, 2, 1}).empty());
}
TEST_CASE("what the dead have pushed counts, and is missed in the update after it") {
  Quorum<4> q = three_of_four();
  hear(q, {Heard::Left, 3, 1});
  hear(q, {Heard::Pushed, 0, 1, 0});
  CHECK(hear(q, {Heard::Left, 0, 1}).empty());  // 0's gradient, 1 and 2 make three
  hear(q, {Heard::Pushed, 1, 1, 0});
  Actions<4> out;
  q.hear({Heard::Pushed, 2, 1, 0}, out);
  Action last;
  for (Action const& a : out) last = a;
  CHECK(last.what == Done::Fail);
  CHECK((last.worker == 0 || last.worker == 3));  // one who has left, not who pushed
}
