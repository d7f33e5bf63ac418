// refused: BatchNorm takes its statistics over the whole batch
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Vector<64>, Linear<32>, Relu, Linear<10>, CrossEntropy> {};
struct Norm : Sequential<Vector<64>, Linear<32>, BatchNorm, Relu, Linear<10>, CrossEntropy> {};
struct Train : Plan<Norm, Batch<8>, ModelParallel<SplitLayers<2>>> {};
