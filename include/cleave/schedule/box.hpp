// schedule/box.hpp - the part of a value that a rank holds in a sharding, and where a part of that lies in its tensor.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "program.hpp"
#include "shard.hpp"
#include "transfer.hpp"

namespace cleave::schedule {

/// Of a value (rows, features): some features of some rows. A rank's tensor holds its box and nothing else, but for
/// zeros at the end of each row where another rank's part of the features is larger. Of a sequence whose positions have
/// features that are cut, each position is a row; of these a box may have some of each sample's.
struct Box {
  long row = 0, rows = 0, feature = 0, features = 0;
  long apart = features;               // from one row to the next in the tensor
  long each = 0, first = 0, some = 0;  // of each so many rows it has `some`, from the first on; 0: it has all
  constexpr long held_rows() const { return each > 0 ? rows / each * some : rows; }
  constexpr long size() const { return held_rows() * features; }
  constexpr long held() const { return held_rows() * apart; }
  /// Of the value, where row i of the tensor lies.
  constexpr long row_at(long i) const { return row + (each > 0 ? i / some * each + first + i % some : i); }
  constexpr bool has_rows_of(Box const& b) const { return each == b.each && first == b.first && some == b.some; }
};
/// Of two that have the same rows of each sample.
constexpr Box intersection(Box a, Box b) {
  auto const meet = [](long x, long m, long y, long n, long& begin, long& count) {
    begin = x > y ? x : y;
    long const end = x + m < y + n ? x + m : y + n;
    count = end > begin ? end - begin : 0;
  };
  Box c = a;
  meet(a.row, a.rows, b.row, b.rows, c.row, c.rows);
  meet(a.feature, a.features, b.feature, b.features, c.feature, c.features);
  c.apart = c.features;
  return c;
}
/// Where a part of a box lies in the tensor that holds it; both have the same rows of each sample.
constexpr Strided lines(Box part, Box of) {
  long const before = of.each > 0 ? (part.row - of.row) / of.each * of.some : part.row - of.row;
  return {before * of.apart + part.feature - of.feature, part.held_rows(), part.features, of.apart};
}
/// What two boxes of one value share, as it lies in the tensor of each: one block, or, if one box has all rows of each
/// sample and the other some, a block for each sample. Both boxes begin with a sample.
struct SharedPart {
  Strided in_a, in_b;
};
constexpr SharedPart shared_by(Box const& a, Box const& b) {
  if (a.has_rows_of(b)) {
    Box const both = intersection(a, b);
    return {lines(both, a), lines(both, b)};
  }
  long const each = a.each > 0 ? a.each : b.each, begin = a.row > b.row ? a.row : b.row,
             end = a.row + a.rows < b.row + b.rows ? a.row + a.rows : b.row + b.rows;
  auto const of_sample = [each](Box const& c) { return c.each > 0 ? c.some : each; };
  auto const first_sample = [&](Box const& c) { return Box{c.first, of_sample(c), c.feature, c.features, c.apart}; };
  Box const both = intersection(first_sample(a), first_sample(b));
  auto const in = [&](Box const& c) {
    Strided at = lines(both, first_sample(c));
    at.block_apart = of_sample(c) * c.apart;
    at.blocks = end > begin ? (end - begin) / each : 0;
    at.begin += (begin - c.row) / each * at.block_apart;
    return at;
  };
  return {in(a), in(b)};
}
/// The zeros behind its rows.
constexpr Strided zeros(Box of) { return {of.features, of.held_rows(), of.apart - of.features, of.apart}; }

/// Dimensions of a value that are its rows and features: `features` are those of a row, and their unit is one index of
/// dimension `cut`; a sample has as many rows as the dimensions before that have indices, of which axes may cut the
/// first.
struct Lines {
  Partition features;
  int cut = place::batch + 1;
  long of_sample = 1;
};
/// What a rank holds of a value in one round of accumulation. Its rows are numbered as those of the step, of which a
/// micro-batch has `samples`; a placement that is no part of the rows or features is of all.
constexpr Box box(place::Sharding const& s, Lines const& value, long samples, Share const& share, int rank,
                  int accumulation) {
  Range const own = share.part(place::axes_of(s, place::shard(place::batch)), rank, accumulation);
  HeldPart const part = held_part(value.features, s, value.cut, share.ranks, rank);
  long const each = samples * value.of_sample;
  Box out{own.begin * each, own.size() * each, part.begin, part.size, part.most};
  if (value.cut == place::batch + 1) return out;
  HeldPart const rows = held_part({value.of_sample}, s, place::batch + 1, share.ranks, rank);
  if (rows.size == value.of_sample) return out;
  out.each = value.of_sample;
  out.first = rows.begin;
  out.some = rows.size;
  return out;
}

}  // namespace cleave::schedule
