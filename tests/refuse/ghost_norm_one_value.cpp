// refused: GhostBatchNorm: a micro-batch of one sample of a vector has one value of each feature
// refused: a_variance_is_of_several_values<1, 8>
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Vector<512>, Linear<16>, GhostBatchNorm, Relu, Linear<10>, CrossEntropy> {};
struct Train : Plan<Net, Batch<8>, MicroBatches<8>, DataParallel<Sync>> {};
