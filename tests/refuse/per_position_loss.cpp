// refused: others are means over all positions already
// refused: MeanSquaredError
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Sequence<4, 8>, PerPosition<Linear<8>, MeanSquaredError>> {};
struct Train : Plan<Net, Batch<8>> {};
