// refused: leave SplitLayers out, or say Zero<1>
// refused: gradients_in_turn_are_there_once<2, 2>
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Vector<512>, Linear<64>, Relu, Linear<10>, CrossEntropy> {};
struct Train
    : Plan<Net, Batch<8>, MicroBatches<4>, DataParallel<Sync, Zero<2>>, Accumulate<1>, ModelParallel<SplitLayers<2>>> {
};
