// refused: SplitRows: the layer's input rows must divide evenly by the ways of the split
// refused: rows_divide_by_ways
// refused: 512, 3
// refused: Linear<10
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Vector<512>, Linear<10>, CrossEntropy> {};
struct Train : Plan<Net, Batch<128>, ModelParallel<SplitRows, Ways<3>>> {};
