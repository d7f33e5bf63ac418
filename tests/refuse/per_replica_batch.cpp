// refused: PerReplica: under Sync the samples of all replicas are the Batch
// refused: PerReplica<6, 2>
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Vector<512>, Linear<10>, CrossEntropy> {};
struct Train : Plan<Net, Batch<8>, DataParallel<Async, PerReplica<6, 2>>> {};
