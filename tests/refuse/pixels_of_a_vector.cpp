// refused: shapes do not chain: the layer wants an Image
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Vector<6>, PixelsAsPositions, PerPosition<CrossEntropy>> {};
struct Train : Plan<Net, Batch<8>> {};
