// refused: SplitCols: the layer's output columns must divide evenly by the ways of the split
// refused: columns_divide_by_ways
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Vector<8>, Linear<64>, Relu, Linear<10>, CrossEntropy> {};
struct Train : Plan<Net, Batch<12>, DataParallel<Sync>, ModelParallel<SplitCols, Ways<3>>, Buckets<1'000>> {};
