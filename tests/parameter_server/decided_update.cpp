// parameter_server/decided_update.cpp - an update to follow as bytes and back, and what is none.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cleave/parameter_server/decided_update.hpp"

#include <doctest/doctest.h>

using namespace cleave;
using namespace cleave::session;

TEST_CASE("an update to follow comes back from its bytes, behind other bytes too") {
  DecidedUpdate d;
  d.by.version = 7;
  d.by.life[0] = 3;
  d.by.life[2] = 1;
  d.rate = 0.1;
  d.saves = true;
  std::vector<unsigned char> bytes(5);
  append(bytes, d, 4);
  CHECK(bytes.size() == 5 + decided_bytes(4));
  DecidedUpdate const back = read_decided({bytes.begin() + 5, bytes.end()}, 4, 2);
  CHECK(back.by.version == 7);
  for (int r = 0; r < 4; ++r) CHECK(back.by.life[r] == d.by.life[r]);
  CHECK(back.rate == 0.1);
  CHECK(back.saves);
}
TEST_CASE("before the first update there is none to follow, and later ones have as many replicas as an update needs") {
  DecidedUpdate d;
  std::vector<unsigned char> none, one;
  append(none, d, 2);
  CHECK(read_decided(none, 2, 2).by.version == 0);
  d.by.version = 1;
  d.by.life[1] = 1;
  append(one, d, 2);
  CHECK(read_decided(one, 2, 1).by.life[1] == 1);
  CHECK_THROWS_WITH_AS(read_decided(one, 2, 2), "an update of 1 replicas, where 2 belong", backend::tcp::Refusal);
}
