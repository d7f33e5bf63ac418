// refused: SplitLayers: skip connections pass over too many parts
// refused: skips_pass_few_parts
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Vector<8>, Residual<Tanh, Residual<Tanh, Residual<Tanh, Residual<Tanh, Residual<Tanh>>>>>,
                        Linear<4>, CrossEntropy> {};
struct Train : Plan<Net, Batch<8>, MicroBatches<8>, DataParallel<Sync>,
                    ModelParallel<SplitLayers<2, Interleaved<5>, FirstLayers<1, 2, 3, 4, 5, 6, 7, 8, 9>>>> {};
