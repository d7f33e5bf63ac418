// schedule/transfer.cpp - lines of a dense tensor; a rank's list of transfers, round by round.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <string>

#include <doctest/doctest.h>
#include <cleave/schedule/transfer.hpp>

using namespace cleave::schedule;

namespace {
constexpr Strided lines{3, 2, 2, 5};  // 3 4, 8 9
static_assert(lines.size() == 4 && lines.element(1) == 4 && lines.element(2) == 8 && lines.element(3) == 9);
static_assert(Strided{7, 1, 3, 0}.element(2) == 9);
static_assert(Strided{1, 2, 3, 4, 2, 20}.element(10) == 1 + 20 + 4 + 1 && Strided{1, 2, 3, 4, 2, 20}.size() == 12);
static_assert(Strided{0, 2, 3, 3, 2, 6}.dense() && !Strided{0, 2, 3, 3, 2, 7}.dense());

std::string said(TransferList const& list, int round) {
  std::string out;
  list.each(round, [&](Write const& w, auto sources) {
    out += std::to_string(w.at.begin) + ":";
    for (Source const& s : sources) out += " " + std::to_string(s.rank);
    out += ";";
  });
  return out;
}
}  // namespace

TEST_CASE("a list has each round's writes with their sources, rounds without any too") {
  TransferList list;
  CHECK(list.rounds() == 0);
  list.round();
  list.write({Opcode::Copy, {}, {1, 1, 1, 0}});
  list.source({4, {}, {}});
  list.write({Opcode::Reduce, {}, {2, 1, 1, 0}});
  list.source({5, {}, {}});
  list.source({6, {}, {}});
  list.round();
  list.round();
  list.write({Opcode::Copy, {}, {3, 1, 1, 0}});
  list.source({7, {}, {}});
  CHECK(list.rounds() == 3);
  CHECK(said(list, 0) == "1: 4;2: 5 6;");
  CHECK(said(list, 1) == "");
  CHECK(said(list, 2) == "3: 7;");
  CHECK(list.peers(0, 5) == std::vector{4, 6});
  CHECK(list.peers(1, 5).empty());
}
TEST_CASE("a round's peers are named once, and not the rank itself") {
  TransferList list;
  list.round();
  for (int w = 0; w < 2; ++w) {
    list.write({Opcode::Reduce, {}, {w, 1, 1, 0}});
    for (int rank : {0, 1, 2}) list.source({rank, {}, {}});
  }
  CHECK(list.peers(0, 1) == std::vector{0, 2});
}
