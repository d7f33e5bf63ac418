// refused: ModelParallel: each way has at least one
// refused: every_way_has_a_part<5, 6>
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Vector<512>, Linear<64>, Relu, Linear<5>, CrossEntropy> {};
struct Train : Plan<Net, Batch<64>, ModelParallel<SplitCols, Ways<2, 3>>> {};
