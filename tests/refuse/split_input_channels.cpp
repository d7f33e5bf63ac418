// refused: SplitRows: the layer's input rows must divide evenly
// refused: rows_divide_by_ways
// refused: 3, 2
// refused: Conv<8, 3
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Image<3, 32, 32>, Conv<8, 3>, CrossEntropy> {};
struct Train : Plan<Net, Batch<8>, ModelParallel<SplitRows>> {};
