// refused: SplitCols: the layer's output columns must divide evenly
// refused: columns_divide_by_ways
// refused: 99, 2
// refused: Linear<99
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Vector<512>, Linear<64>, Relu, Linear<99, ModelParallel<SplitCols>>, CrossEntropy> {};
struct Train : Plan<Net, Batch<128>, DataParallel<Sync>> {};
