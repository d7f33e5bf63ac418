// refused: shapes do not chain: the layer wants an Image
// refused: 1, 3
// refused: GlobalAvgPool
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Vector<512>, GlobalAvgPool, Linear<10>, CrossEntropy> {};
struct Train : Plan<Net, Batch<8>> {};
