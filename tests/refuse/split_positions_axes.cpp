// refused: SplitPositions: positions are cut along the one axis of ModelParallel<SplitPositions, Ways<n>>
// refused: or the last of several, SplitAlong<SplitColsRows, SplitPositions>
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Vector<8>, Embedding<64, 8>, Residual<PerPosition<LayerNorm>, Attention<2, Causal>>,
                        PerPosition<Linear<64>, CrossEntropy>> {};
struct Train : Plan<Net, Batch<8>, ModelParallel<SplitAlong<SplitPositions, SplitColsRows>, Ways<2, 2>>> {};
