// schedule/box.hpp - the part of a replica's value that a way holds or needs, before and after a conversion.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../op/verb.hpp"
#include "transfer.hpp"

namespace cleave::schedule {

/// Of a value (rows, features): some features of some rows. A way's tensor holds its box and nothing else.
struct Box {
  long row = 0, rows = 0, feature = 0, features = 0;
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
  return c;
}
/// Where a part of a box lies in the tensor that holds it.
constexpr Strided lines(Box part, Box of) {
  return {(part.row - of.row) * of.features + part.feature - of.feature, part.rows, part.features, of.features};
}

/// How the ways share a value: every way has all of it (or a summand of it), some rows, or some features.
enum class Holding : unsigned char { Whole, Rows, Features };
constexpr Holding held_before(op::Verb v, bool rows) {
  return v != op::Verb::AllGather && v != op::Verb::AllToAll ? Holding::Whole
         : rows                                              ? Holding::Rows
                                                             : Holding::Features;
}
constexpr Holding held_after(op::Verb v, bool rows) {
  return v == op::Verb::AllGather || v == op::Verb::AllReduce ? Holding::Whole
         : rows                                               ? Holding::Rows
                                                              : Holding::Features;
}

}  // namespace cleave::schedule
