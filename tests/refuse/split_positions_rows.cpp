// refused: SequenceParallel, SplitPositions: no layer of this model reads positions one by one
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Image<2, 7, 6>, Conv<4, 3, Pad<1>>, Relu, Linear<4>, CrossEntropy> {};
struct Train : Plan<Net, Batch<8>, ModelParallel<SplitPositions, Ways<2>>> {};
