// refused: SplitCols: the layer's output columns must divide evenly by the ways of the split
// refused: columns_divide_by_ways
// refused: 100, 8
// refused: Linear<100
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Vector<512>, Linear<100>, CrossEntropy> {};
struct Train : Plan<Net, Batch<128>, ModelParallel<SplitCols, Ways<8>>> {};
