// refused: ModelParallel: each way has at least one
// refused: every_way_has_a_part
// refused: 2, 3
// refused: Linear<10
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Vector<2>, Linear<10>, CrossEntropy> {};
struct Train : Plan<Net, Batch<128>, ModelParallel<SplitRows, Ways<3>>> {};
