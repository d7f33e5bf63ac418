// schedule/rows.hpp - the message of a gradient with few nonzero rows: a header, the rows, their indices.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "encoding.hpp"

namespace cleave::schedule {

// | rows: 8 bytes | values (rows, row) | indices (rows), 4 bytes each, rising |

inline constexpr long rows_header = 8, row_index = 4;
/// With `wire` bytes for a value.
constexpr long row_bytes(Bucket const& b, int wire) { return row_index + b.row * wire; }
constexpr long rows_bytes(Bucket const& b, long rows, int wire) { return rows_header + rows * row_bytes(b, wire); }
/// Upper bound of the nonzero rows of the gradient over a number of samples.
constexpr long most_rows(Bucket const& b, long samples) {
  long const all = b.count / b.row, read = samples * b.reads;
  return all < read ? all : read;
}

/// The part of such a bucket in a shard: rows, and before and after them fractions of rows cut by the shard's bounds,
/// which are sent plainly.
struct Cut {
  long head, rows, tail;
};
constexpr Cut cut(Bucket const& b, Run r) {
  long const into = (r.begin - b.offset) % b.row, missing = into == 0 ? 0 : b.row - into;
  long const head = missing < r.count ? missing : r.count;
  return {head, (r.count - head) / b.row, (r.count - head) % b.row};
}

}  // namespace cleave::schedule
