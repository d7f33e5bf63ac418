// refused: ModelParallel: each way has at least one
// refused: every_way_has_a_part
// refused: 1, 2
// refused: Linear<1,
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Vector<512>, Linear<63>, Relu, Linear<1, ModelParallel<SplitCols>>, MeanSquaredError> {};
struct Train : Plan<Net, Batch<128>, DataParallel<Sync>> {};
