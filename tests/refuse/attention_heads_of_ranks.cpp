// refused: of Attention these are its heads
// refused: 3, 4
// refused: Attention<3
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Sequence<4, 12>, Attention<3, Causal>, PerPosition<Linear<4>, CrossEntropy>> {};
struct Train : Plan<Net, Batch<8>, ModelParallel<SplitColsRows, Ways<4>>> {};
