// refused: an earlier layer says which of the positions are padding
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Vector<8>, Embedding<100, 16>, Attention<2, Padded>, LastPosition, Linear<2>, CrossEntropy> {};
struct Train : Plan<Net, Batch<8>> {};
