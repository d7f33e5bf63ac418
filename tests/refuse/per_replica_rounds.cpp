// refused: PerReplica: for each of 1 to 8 groups a number of samples from 1
// refused: PerReplica<6, 2>
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Vector<512>, Linear<10>, CrossEntropy> {};
struct Train : Plan<Net, Batch<8>, DataParallel<Sync, PerReplica<6, 2>>, MicroBatches<4>, Accumulate<2>> {};
