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

TEST_CASE("a sharding's boxes: of 2 x 2 x 2 ranks, each element is with as many as the axes that do not cut it have") {
  using place::shard, place::batch, place::invariant, place::partial;
  Share const share{12, {2, 2, 2}, 3};
  for (place::Placement second : {invariant, shard(batch), shard(1)}) {
    for (place::Placement third : {partial, shard(batch), shard(1)}) {
      place::Sharding const s{{shard(batch), second, third}};
      int holders[24][8]{};
      for (int rank = 0; rank < 8; ++rank) {
        Box const b = box(s, {{8}}, 2, share, rank, 1);
        for (long e = 0; e < b.size(); ++e) ++holders[b.row + e / b.features][b.feature + e % b.features];
      }
      int const cut = (second.kind == place::Kind::Shard) + (third.kind == place::Kind::Shard);
      for (int row = 0; row < 24; ++row) {  // of each replica's 12 the middle third is this round's
        for (int h : holders[row]) CHECK(h == (row % 12 / 4 == 1 ? 4 >> cut : 0));
      }
    }
  }
  CHECK(box({{shard(batch), shard(1), shard(1)}}, {{8}}, 2, share, 6, 0).feature == 4);  // a part of a part
  CHECK(box({{shard(batch), shard(1)}}, {{250, 25}}, 2, {8, {1, 4}}, 1, 0).feature ==
        50);  // where its channels are cut
}

TEST_CASE("of two samples of 6 rows and 8 features, a box of some rows meets one of some features in each sample") {
  Box const some{0, 12, 0, 8, 8, 6, 2, 2}, all{0, 12, 4, 4};  // rows 2 and 3 of each; features 4 to 7 of all
  CHECK(some.size() == 2 * 2 * 8);
  CHECK(some.row_at(1) == 3);
  CHECK(some.row_at(2) == 8);
  auto const [in_some, in_all] = shared_by(some, all);
  CHECK(in_some.size() == 16);
  CHECK(in_all.size() == 16);
  for (long i = 0; i < 16; ++i) {  // the same elements of the value
    long const at = in_some.element(i), there = in_all.element(i);
    CHECK(some.row_at(at / 8) == all.row_at(there / 4));
    CHECK(at % 8 == 4 + there % 4);
  }
  CHECK(shared_by(all, some).in_a.element(5) == in_all.element(5));
  CHECK(shared_by(some, some).in_a.dense());
  CHECK(shared_by(some, some).in_b.size() == some.size());
  Box const second{6, 6, 4, 4};  // of the second sample
  CHECK(shared_by(some, second).in_a.begin == 2 * 8 + 4);
  CHECK(shared_by(some, second).in_b.begin == 2 * 4);
  CHECK(shared_by(some, second).in_b.size() == 8);
  CHECK(shared_by(some, {12, 6, 0, 8}).in_a.size() == 0);
}

TEST_CASE("positions along one axis and features along another: each element is on one rank of the four") {
  using place::shard, place::invariant, place::batch;
  Share const share{3, {1, 2, 2}};
  place::Sharding const s{{shard(batch), shard(3), shard(1)}};
  Lines const value{{8, 2}, 3, 6};  // 6 rows to a sample, 4 indices of 2 features to a row
  int holders[3 * 6][8]{};
  for (int rank = 0; rank < 4; ++rank) {
    Box const b = box(s, value, 1, share, rank, 0);
    CHECK(b.size() == 3 * 3 * 4);
    for (long e = 0; e < b.held(); ++e) ++holders[b.row_at(e / b.apart)][b.feature + e % b.apart];
  }
  for (auto const& row : holders) {
    for (int h : row) CHECK(h == 1);
  }
}
