// refused: GhostBatchNorm: its statistics are pushed with the gradients, which this agreement weights
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Image<3, 8, 8>, Conv<4, 3>, GhostBatchNorm, Relu, Linear<10>, CrossEntropy> {};
struct Train : Plan<Net, Batch<8>, MicroBatches<2>, DataParallel<Async, Stale<Damp>>> {};
