// refused: ModelParallel: each way has at least one
// refused: every_way_has_a_part
// refused: 1, 2
// refused: Conv<8, 3
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Image<1, 32, 32>, Conv<8, 3>, CrossEntropy> {};
struct Train : Plan<Net, Batch<8>, ModelParallel<SplitRows>> {};
