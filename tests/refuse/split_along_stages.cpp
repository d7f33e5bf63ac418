// refused: SplitAlong<...>: each is SplitCols, SplitRows
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Vector<512>, Linear<64>, CrossEntropy> {};
struct Train : Plan<Net, Batch<64>, ModelParallel<SplitAlong<SplitCols, SplitLayers<2>>, Ways<2, 2>>> {};
