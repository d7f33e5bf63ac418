// refused: SplitGroups: the convolution's groups must divide evenly by the ways of the split
// refused: groups_divide_by_ways
// refused: 3, 2
// refused: Conv<12, 3
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Image<3, 32, 32>, Conv<12, 3, Groups<3>, ModelParallel<SplitGroups>>, CrossEntropy> {};
struct Train : Plan<Net, Batch<8>> {};
