// refused: Rotary: it turns pairs of features
// refused: 3, 2
// refused: Attention<2
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Sequence<4, 6>, Attention<2, Causal, Rotary>, PerPosition<Linear<2>, CrossEntropy>> {};
struct Train : Plan<Net, Batch<8>> {};
