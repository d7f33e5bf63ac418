// flags: -O2 -ffast-math
// refused: cleave: compile without -ffast-math, -Ofast and -ffinite-math-only
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Vector<8>, Linear<10>, CrossEntropy> {};
struct Train : Plan<Net, Batch<8>> {};
static_assert(Train::batch == 8);
