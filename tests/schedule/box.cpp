// schedule/box.cpp - boxes of a value: where they meet, and where a part lies in the tensor that holds it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave/schedule/box.hpp>

using namespace cleave;
using namespace cleave::schedule;

TEST_CASE("rows 2 to 4 and features 3 to 6 of a value of 5 rows and 6 features meet in two lines of three") {
  Box const rows{2, 2, 0, 6}, features{0, 5, 3, 3}, both = intersection(rows, features);
  CHECK(both.row == 2);
  CHECK(both.rows == 2);
  CHECK(both.feature == 3);
  CHECK(both.features == 3);
  Strided const in_rows = lines(both, rows), in_features = lines(both, features);
  CHECK(in_rows.begin == 3);
  CHECK(in_rows.count == 2);
  CHECK(in_rows.apart == 6);
  CHECK(in_features.begin == 6);
  CHECK(in_features.count == 2);
  CHECK(in_features.apart == 3);  // neighbours
  CHECK(lines(rows, {0, 5, 0, 6}).begin == 12);
  CHECK(intersection(rows, {4, 1, 0, 6}).rows == 0);
}

TEST_CASE("each collective goes from one way of holding a value to another") {
  using op::Verb;
  CHECK(held_before(Verb::AllGather, true) == Holding::Rows);
  CHECK(held_after(Verb::AllGather, false) == Holding::Whole);
  CHECK(held_before(Verb::AllToAll, false) == Holding::Features);
  CHECK(held_after(Verb::AllToAll, true) == Holding::Rows);
  CHECK(held_before(Verb::ReduceScatter, true) == Holding::Whole);
  CHECK(held_after(Verb::ReduceScatter, false) == Holding::Features);
  CHECK(held_after(Verb::Slice, true) == Holding::Rows);
  CHECK(held_before(Verb::AllReduce, true) == Holding::Whole);
  CHECK(held_after(Verb::AllReduce, true) == Holding::Whole);
}
