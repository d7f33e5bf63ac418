// refused: Accumulate, SplitLayers: BatchNorm takes its statistics over the whole batch
// refused: the_whole_batch_is_there_at_once
// refused: 2, 8
// refused: BatchNorm
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Vector<512>, Linear<16>, BatchNorm, Relu, Linear<10>, CrossEntropy> {};
struct Train : Plan<Net, Batch<64>, Accumulate<2>> {};
