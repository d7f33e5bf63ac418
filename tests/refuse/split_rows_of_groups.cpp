// refused: has no such letter to cut
// refused: Conv<12, 3
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Image<3, 32, 32>, Conv<12, 3, Groups<3>>, CrossEntropy> {};
struct Train : Plan<Net, Batch<8>, ModelParallel<SplitRows>> {};
