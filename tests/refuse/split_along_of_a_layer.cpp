// refused: SplitAlong<...> has a split for each axis of the ranks
// refused: each_axis_has_its_split<2, 3>
// refused: Linear<64
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Vector<512>, Linear<64, ModelParallel<SplitAlong<SplitCols, SplitRows>>>, CrossEntropy> {};
struct Train : Plan<Net, Batch<64>, ModelParallel<SplitCols, Ways<2, 2, 2>>> {};
