// schedule/box.hpp - the part of a value that a rank holds in a sharding, and where a part of that lies in its tensor.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "program.hpp"
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

/// Its part of the features of a value; a placement that is no part of them is of all. `features` are those of a
/// sample; its unit is one index of the dimension that is cut.
constexpr Box features_of(place::Sharding const& s, Partition features, Ranks const& ranks, int rank) {
  Box out{0, 0, 0, features.extent, features.extent};
  for (int a = 0; a < ranks.axes; ++a) {
    if (s.on[a].kind != place::Kind::Shard || s.on[a].dim == place::batch) continue;
    int const part = ranks.coordinate(rank, a), parts = ranks.size[a];
    out.feature += features.begin(part, parts);
    out.features = features.extent = features.size(part, parts);
    out.apart = Partition{out.apart, features.unit}.most(parts);
  }
  return out;
}
/// The rows of a table of tokens that a rank has.
struct TableRows {
  long first = 0, count = 0;
};
constexpr TableRows table_rows(ProgramNode const& table, Ranks const& ranks, int rank) {
  TableRows out{0, table.weight[0].shape[0]};
  for (int a = place::data_axis + 1; a < ranks.axes; ++a) {
    if (!(table.w.on[a] == place::shard(0))) continue;
    Partition const all{out.count};
    int const part = ranks.coordinate(rank, a), parts = ranks.size[a];
    out.first += all.begin(part, parts);
    out.count = all.size(part, parts);
  }
  return out;
}
/// What a rank holds of a value in one round of accumulation. Its rows are numbered as those of the step, `each` to a
/// micro-batch; a placement that is no part of the rows is of all.
constexpr Box box(place::Sharding const& s, Partition features, long each, Share const& share, int rank,
                  int accumulation) {
  Range const own = share.part(place::axes_of(s, place::shard(place::batch)), rank, accumulation);
  Box out = features_of(s, features, share.ranks, rank);
  out.row = own.begin * each;
  out.rows = own.size() * each;
  return out;
}

}  // namespace cleave::schedule
