// refused: PerPosition: its layers see one position alone
// refused: GhostBatchNorm
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Sequence<4, 8>, PerPosition<GhostBatchNorm>, PerPosition<Linear<2>, CrossEntropy>> {};
struct Train : Plan<Net, Batch<8>> {};
