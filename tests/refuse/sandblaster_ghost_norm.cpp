// refused: Sandblaster: L-BFGS steps all weights, and some weights of GhostBatchNorm are running means
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

#include <cleave/parameter_server/sandblaster.hpp>

struct Net : Sequential<Image<3, 8, 8>, Conv<4, 3>, GhostBatchNorm, Relu, Linear<10>, CrossEntropy> {};
struct Train : Plan<Net, Batch<64>, MicroBatches<4>, DataParallel<Async>> {};
static_assert(sizeof(Sandblaster<Train>) > 0);
