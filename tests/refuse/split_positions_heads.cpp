// refused: SplitPositions: attention is split by heads, so the heads, or the n of KeyValueHeads<n>, must divide
// refused: 2, 4
// refused: Attention<2
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Vector<8>, Embedding<64, 8>, Residual<PerPosition<LayerNorm>, Attention<2, Causal>>,
                        PerPosition<Linear<64>, CrossEntropy>> {};
struct Train : Plan<Net, Batch<8>, ModelParallel<SplitPositions, Ways<4>>> {};
