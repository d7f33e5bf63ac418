// agree/worker.cpp - paces, mailboxes and several shards.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cleave/agree/worker.hpp"

#include <doctest/doctest.h>

using namespace cleave::agree;

TEST_CASE(
    "shards in step: nothing is computed with weights of two versions, nor between the pushes to several shards") {
  WorkerOf<int[2]> w;
  w.in_step = 1;
  CHECK(w.granted(1, 1) == Turn::Nothing);
  CHECK(w.granted(0, 0) == Turn::Nothing);
  CHECK(w.granted(0, 1) == Turn::Compute);
  CHECK(w.ready().push);
  w.pause();
  CHECK(w.granted(0, 2) == Turn::Nothing);
  CHECK(w.granted(1, 2) == Turn::Nothing);
  CHECK(w.weights_of(0) == 1);
  CHECK(w.go_on() == Turn::Compute);
  CHECK(w.weights_of(0) == 2);
}
TEST_CASE("a mailbox holds the newest version only, and all shards must have written") {
  Worker<2> w;
  CHECK(w.granted(0, 0) == Turn::Nothing);
  CHECK(w.granted(1, 0) == Turn::Compute);
  CHECK(w.granted(0, 1) == Turn::Nothing);  // while it computes
  CHECK(w.granted(0, 3) == Turn::Nothing);
  Said const s = w.ready();
  CHECK(s.push);
  CHECK(s.turn == Turn::Nothing);
  CHECK(w.granted(1, 1) == Turn::Compute);
  CHECK(w.weights_of(0) == 3);
  CHECK(w.weights_of(1) == 1);
}
TEST_CASE("a worker pushes every n_push steps and fetches every n_fetch") {
  Worker<1> w;
  w.pace = {2, 3};
  w.granted(0, 0);
  bool const push[] = {false, false, true, false, false, true}, ask[] = {false, true, false, true, false, true};
  for (int i = 0; i < 6; ++i) {
    Said const s = w.ready();
    CHECK(s.push == push[i]);
    CHECK(s.ask == ask[i]);
    CHECK(s.turn == (ask[i] ? Turn::Nothing : Turn::ComputeOnOwn));
    if (ask[i]) CHECK(w.granted(0, i) == Turn::Compute);
  }
}
TEST_CASE("a flush pushes what no push has had, once, and begins a new round with the weights that answer it") {
  Worker<2> w;
  w.pace = {4, 4};
  w.granted(0, 0);
  w.granted(1, 0);
  CHECK(!w.flush().push);  // nothing is pending
  for (int i = 0; i < 3; ++i) CHECK(w.ready().turn == Turn::ComputeOnOwn);
  CHECK(w.step() == 3);
  Said const s = w.flush();
  CHECK((s.push && s.ask && s.count == 0));
  CHECK(s.turn == Turn::Nothing);
  CHECK(!w.flush().push);
  CHECK(w.granted(0, 1) == Turn::Nothing);
  CHECK(w.granted(1, 1) == Turn::Compute);
  w.from_step = 3, w.from_version = 1;
  CHECK(w.step() == 3);
  for (int i = 0; i < 3; ++i) CHECK(!w.ready().push);
  CHECK(w.step() == 6);
  CHECK(w.ready().push);  // four after the flush
}
TEST_CASE("a flush between a fetch and a push: both begin anew") {
  Worker<1> w;
  w.pace = {2, 3};
  w.granted(0, 0);
  w.ready();
  CHECK(w.ready().ask);
  CHECK(w.granted(0, 5) == Turn::Compute);
  CHECK(w.flush().push);
  CHECK(w.granted(0, 6) == Turn::Compute);
  CHECK(!w.ready().ask);
  CHECK(w.ready().ask);
}
TEST_CASE("what is said again is the last push by its number") {
  Worker<1> w;
  w.granted(0, 0);
  CHECK(w.ready().count == 0);
  CHECK(w.again().push);
  CHECK(w.again().count == 0);
}
