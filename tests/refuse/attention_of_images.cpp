// refused: a sequence
// refused: Attention<4
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Image<3, 32, 32>, Conv<64, 8, Stride<8>>, Attention<4>, Linear<10>, CrossEntropy> {};
struct Train : Plan<Net, Batch<8>> {};
