// refused: SequenceParallel, SplitPositions: no layer of this model reads positions one by one
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Vector<8>, Linear<16>, Relu, Linear<4>, CrossEntropy> {};
struct Train : Plan<Net, Batch<8>, ModelParallel<SplitColsRows, Ways<2>>, SequenceParallel> {};
