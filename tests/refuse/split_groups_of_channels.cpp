// refused: SplitGroups: the convolution's groups must divide evenly by the ways of the split
// refused: groups_divide_by_ways
// refused: 5, 2
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

// Two channels go into each filter: parts of the channels and of the filters would not belong together.
struct Net : Sequential<Image<10, 8, 8>, Conv<5, 3, Groups<5>>, CrossEntropy> {};
struct Train : Plan<Net, Batch<8>, ModelParallel<SplitCols>> {};
