// refused: GhostBatchNorm: its statistics are of a micro-batch, whose size matters for training; say MicroBatches<m>
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Image<3, 8, 8>, Conv<4, 3>, GhostBatchNorm, Relu, Linear<10>, CrossEntropy> {};
struct Train : Plan<Net, Batch<8>, DataParallel<Sync>> {};
