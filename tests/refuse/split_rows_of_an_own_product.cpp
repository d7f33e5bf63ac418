// refused: SplitRows: the layer's input rows must divide evenly by the ways of the split
// refused: rows_divide_by_ways
// refused: 99, 2
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Distances : op::Product<512> {
  static constexpr bool linear = false;
};
struct Net : Sequential<Vector<99>, layer::Chain<Distances>, CrossEntropy> {};
struct Train : Plan<Net, Batch<128>, ModelParallel<SplitRows>> {};
