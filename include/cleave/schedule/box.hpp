// schedule/box.hpp - the part of a value that a rank holds in a sharding, and where a part of that lies in its tensor.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "program.hpp"
#include "shard.hpp"
#include "transfer.hpp"

namespace cleave::schedule {

/// Of a value (rows, features): some features of some rows. A rank's tensor holds its box and nothing else, but for
/// zeros at the end of each row where another rank's part of the features is larger. Of a sequence whose positions have
/// features that are cut, each position is a row.
struct Box {
  long row = 0, rows = 0, feature = 0, features = 0;
  long apart = features;  // from one row to the next in the tensor
  constexpr long size() const { return rows * features; }
  constexpr long held() const { return rows * apart; }
};
constexpr Box intersection(Box a, Box b) {
  auto const meet = [](long x, long m, long y, long n, long& begin, long& count) {
    begin = x > y ? x : y;
    long const end = x + m < y + n ? x + m : y + n;
    count = end > begin ? end - begin : 0;
  };
  Box c;
  meet(a.row, a.rows, b.row, b.rows, c.row, c.rows);
  meet(a.feature, a.features, b.feature, b.features, c.feature, c.features);
  c.apart = c.features;
  return c;
}
/// Where a part of a box lies in the tensor that holds it.
constexpr Strided lines(Box part, Box of) {
  return {(part.row - of.row) * of.apart + part.feature - of.feature, part.rows, part.features, of.apart};
}
/// The zeros behind its rows.
constexpr Strided zeros(Box of) { return {of.features, of.rows, of.apart - of.features, of.apart}; }

/// What a rank holds of a value with so many features in one round of accumulation. Its rows are numbered as those of
/// the step, `each` to a micro-batch; a placement that is no part of the rows or features is of all.
/// `features` are those of a sample; its unit is one index of the dimension that is cut.
constexpr Box box(place::Sharding const& s, Partition features, long each, Share const& share, int rank,
                  int accumulation) {
  Range const own = share.part(place::axes_of(s, place::shard(place::batch)), rank, accumulation);
  HeldPart const part = held_part(features, s, place::dim_cut(s), share.ranks, rank);
  return {own.begin * each, own.size() * each, part.begin, part.size, part.most};
}

}  // namespace cleave::schedule
