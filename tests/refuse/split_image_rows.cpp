// refused: SplitRows: the layer's input rows must divide evenly by the ways of the split; of an image these are its
// channels refused: rows_divide_by_ways refused: 6, 4
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Image<6, 4, 4>, Linear<4>, CrossEntropy> {};
struct Train : Plan<Net, Batch<8>, ModelParallel<SplitRows, Ways<4>>> {};
