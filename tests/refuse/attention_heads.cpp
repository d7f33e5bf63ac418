// refused: the features of a position must divide evenly by the heads
// refused: 8, 3
// refused: Attention<3
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Sequence<4, 8>, Attention<3>, PerPosition<Linear<2>, CrossEntropy>> {};
struct Train : Plan<Net, Batch<8>> {};
