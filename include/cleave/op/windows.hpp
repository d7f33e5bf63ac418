// op/windows.hpp - which rows of an image an operation with windows reads for a part of its output's rows.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

namespace cleave::op {

/// Of square windows. Row j of an output reads `reach` rows from stride j - pad on; of a transposed one it reads each
/// row i from which stride i - pad + k is j for some k below `reach`.
struct Windows {
  int reach = 0;  // 0: no windows
  int stride = 1, pad = 0;
  bool transposed = false;

  /// Whether an output can be computed in parts of so many rows.
  constexpr bool has_parts_of(int rows) const { return reach > 0 && (!transposed || rows % stride == 0); }
  /// For each part of so many rows of the output, the same number of rows of the input...
  constexpr int rows_read(int rows) const {
    return transposed ? rows / stride + halo() + (pad + stride - 1) / stride : (rows - 1) * stride + reach;
  }
  /// ... from this one on, for the first part; below 0 in the padding.
  constexpr int first_read() const { return transposed ? -halo() : -pad; }
  /// From the first row read for a part to that for the next.
  constexpr int step(int rows) const { return transposed ? rows / stride : rows * stride; }
  /// Zeros on either side of each row, so that an operation without padding reads them.
  constexpr int columns() const { return transposed ? halo() : pad; }
  /// What is read is the same number of rows of each rank, its own.
  constexpr bool reads_own(int rows, int height, int ranks) const {
    return first_read() == 0 && columns() == 0 && step(rows) * ranks == height && rows_read(rows) <= step(rows);
  }

 private:
  constexpr int halo() const { return (reach - 1 - pad) / stride; }
};

}  // namespace cleave::op
