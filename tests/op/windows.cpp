// op/windows.cpp - which rows are read for a part of the output, held against windows told by hand.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave/op/windows.hpp>
#include <initializer_list>

using cleave::op::Windows;

namespace {

struct Rows {
  int begin, end;
};
/// The rows of an image that the windows of output rows [first, first + rows) read, in the padding too; of a transposed
/// one as many as an image with halo() zeros on either side has for them.
Rows read_by(Windows const& w, int first, int rows) {
  Rows out{1 << 20, -(1 << 20)};
  for (int j = first; j < first + rows; ++j) {
    for (int k = 0; k < w.reach; ++k) {
      int const at = w.transposed ? j + w.pad - k : j * w.stride - w.pad + k;
      if (w.transposed && at % w.stride != 0) continue;
      int const row = w.transposed ? at / w.stride : at;
      out.begin = row < out.begin ? row : out.begin;
      out.end = row >= out.end ? row + 1 : out.end;
    }
  }
  return out;
}

}  // namespace

TEST_CASE("a part of the rows reads what its windows cover, and no row more") {
  for (int reach = 1; reach <= 6; ++reach) {
    for (int stride = 1; stride <= 4; ++stride) {
      for (int pad = 0; pad < reach; ++pad) {
        for (bool transposed : {false, true}) {
          if (transposed && 2 * pad >= reach) continue;
          Windows const w{reach, stride, pad, transposed};
          for (int rows = stride; rows <= 12; rows += transposed ? stride : 1) {
            REQUIRE(w.has_parts_of(rows));
            for (int part = 0; part < 3; ++part) {
              INFO(reach << ' ' << stride << ' ' << pad << ' ' << transposed << ' ' << rows << ' ' << part);
              Rows const want = read_by(w, part * rows, rows);
              int const begin = part * w.step(rows) + w.first_read(), end = begin + w.rows_read(rows);
              CHECK(begin <= want.begin);
              CHECK(end >= want.end);
              if (!transposed || reach >= stride) CHECK((begin == want.begin && end == want.end));
            }
          }
        }
      }
    }
  }
}
TEST_CASE("windows side by side, of one row, or with rows between them read a rank's own rows") {
  static_assert(Windows{2, 2, 0}.reads_own(3, 12, 2) && Windows{1, 1, 0}.reads_own(6, 12, 2));
  static_assert(Windows{2, 3, 0}.reads_own(2, 12, 2) && Windows{2, 2, 0, true}.reads_own(12, 12, 2));
  static_assert(!Windows{3, 1, 1}.reads_own(6, 12, 2) && !Windows{3, 2, 0}.reads_own(3, 14, 2));
  static_assert(!Windows{2, 2, 0}.reads_own(3, 13, 2));  // the last row is in no window, and parts of rows are others
  static_assert(!Windows{4, 2, 1, true}.has_parts_of(3) && !Windows{}.has_parts_of(4));
}
