// refused: SplitGroups: the convolution's groups must divide
// refused: groups_divide_by_ways
// refused: 3, 2
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Image<3, 32, 32>, Conv<12, 3, Groups<3>>, CrossEntropy> {};
struct Train : Plan<Net, Batch<8>, ModelParallel<SplitCols>> {};
