// refused: PadToken<t> is one of the tokens
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Vector<8>, Embedding<100, 16, PadToken<100>>, MeanOverValidPositions, Linear<2>, CrossEntropy> {
};
struct Train : Plan<Net, Batch<8>> {};
