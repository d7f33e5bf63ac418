// refused: ModelParallel: each way has at least one of the layer's output columns (SplitCols)
// refused: every_way_has_a_part
// refused: 4, 8
// refused: Linear<4
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Vector<512>, Linear<4>, CrossEntropy> {};
struct Train : Plan<Net, Batch<128>, ModelParallel<SplitCols, Ways<8>>> {};
