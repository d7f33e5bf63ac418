// refused: DataParallel: PerReplica weighs gradients by their samples
// refused: LocalSGD<4>
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Vector<512>, Linear<10>, CrossEntropy> {};
struct Train : Plan<Net, Batch<8>, DataParallel<LocalSGD<4>, PerReplica<6, 2>>> {};
