// refused: n must divide the heads evenly
// refused: 6, 4
// refused: Attention<6
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Sequence<4, 12>, Attention<6, KeyValueHeads<4>>, PerPosition<Linear<2>, CrossEntropy>> {};
struct Train : Plan<Net, Batch<8>> {};
