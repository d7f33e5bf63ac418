// schedule/rows.hpp - a gradient of which few rows are not zero, as a message: a header, those rows, their indices.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "encoding.hpp"

namespace cleave::schedule {

// | rows: 8 bytes | values (rows, row) | indices (rows), 4 bytes each, rising |

inline constexpr long rows_header = 8, row_index = 4;
/// With `wire` bytes to a value.
constexpr long row_bytes(Bucket const& b, int wire) { return row_index + b.row * wire; }
constexpr long rows_bytes(Bucket const& b, long rows, int wire) { return rows_header + rows * row_bytes(b, wire); }
/// At most so many rows of the gradient over so many samples are not zero.
constexpr long most_rows(Bucket const& b, long samples) {
  long const all = b.count / b.row, read = samples * b.reads;
  return all < read ? all : read;
}

/// What a part of such a bucket is made of: rows, and before and behind them what a shard's bounds left of a row. That
/// is sent as it is.
struct Cut {
  long head, rows, tail;
};
constexpr Cut cut(Bucket const& b, Run r) {
  long const into = (r.begin - b.offset) % b.row, missing = into == 0 ? 0 : b.row - into;
  long const head = missing < r.count ? missing : r.count;
  return {head, (r.count - head) / b.row, (r.count - head) % b.row};
}

}  // namespace cleave::schedule
