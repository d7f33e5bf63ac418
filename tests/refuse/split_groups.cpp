// refused: ModelParallel: each way has at least one of the layer's output columns (SplitCols)
// refused: 3, 4
// refused: Conv<12, 3
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Image<3, 32, 32>, Conv<12, 3, Groups<3>>, CrossEntropy> {};
struct Train : Plan<Net, Batch<8>, ModelParallel<SplitGroups, Ways<4>>> {};
