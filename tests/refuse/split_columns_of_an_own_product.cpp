// refused: SplitCols: the layer's output columns must divide evenly by the ways of the split
// refused: columns_divide_by_ways
// refused: 99, 2
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Distances : op::Product<99> {
  static constexpr bool linear = false;
};
struct Net : Sequential<Vector<512>, layer::Chain<Distances>, CrossEntropy> {};
struct Train : Plan<Net, Batch<128>, ModelParallel<SplitCols>> {};
