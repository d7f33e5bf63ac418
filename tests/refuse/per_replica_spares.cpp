// refused: DataParallel: PerReplica weighs gradients by their samples
// refused: Sync
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Vector<512>, Linear<10>, CrossEntropy> {};
struct Train : Plan<Net, Batch<8>, DataParallel<Sync, Spares<2>, PerReplica<6, 2>>> {};
