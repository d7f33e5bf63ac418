// refused: GhostBatchNorm: its statistics are sent with the gradients, and cannot be compressed
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

#include <cleave/send/int8.hpp>

struct Net : Sequential<Image<3, 8, 8>, Conv<4, 3>, GhostBatchNorm, Relu, Linear<10>, CrossEntropy> {};
struct Train : Plan<Net, Batch<8>, MicroBatches<2>, DataParallel<Sync>, Fastest, Compress<Int8>> {};
