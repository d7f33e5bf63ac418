// place/split.hpp - the splits of a layer over the model axis; each names one letter of the equation.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

namespace cleave {

// y (b, o) = x (b, i) W (i, o), two ways:
//
//   SplitCols   rank 0 | x  W[:, left]  |  -> left columns of y     no sum: each rank owns whole columns
//               rank 1 | x  W[:, right] |  -> right columns of y    dX is the sum over ranks, in the backward pass
//   SplitRows   rank 0 | x[:, left]  W[top, :]    |  -> a summand of y   dX comes out in columns, unsummed
//               rank 1 | x[:, right] W[bottom, :] |  -> a summand of y
struct SplitCols {
  static constexpr char letter = 'o';
};
struct SplitRows {
  static constexpr char letter = 'i';
};
/// Rows of what comes in columns, else columns: each pair meets without a conversion and costs one sum per pass, also
/// where two layers in columns come before one in rows (SwiGlu).
struct SplitColsRows {
  static constexpr char letter = '~';
};
/// Whole samples: data parallelism over the model axis, for layers with few weights (convolutions).
struct SplitBatch {
  static constexpr char letter = 'b';
};
/// Whole groups of a grouped convolution, which exchange nothing.
struct SplitGroups {
  static constexpr char letter = 'c';
};
/// Not split: every rank of the model axis computes the same.
struct Whole {
  static constexpr char letter = 'W';
};

}  // namespace cleave
