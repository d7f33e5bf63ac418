// refused: SequenceParallel, SplitPositions: the positions of a sequence must divide evenly by the ways of the split
// refused: 7, 2
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Vector<7>, Embedding<64, 8>, Residual<PerPosition<LayerNorm>, Attention<2, Causal>>,
                        PerPosition<Linear<64>, CrossEntropy>> {};
struct Train : Plan<Net, Batch<8>, ModelParallel<SplitPositions, Ways<2>>> {};
