// refused: CapacityPercent<p> is from 1
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net
    : Sequential<Sequence<4, 8>, Experts<4, CapacityPercent<0>, Linear<8>>, PerPosition<Linear<2>, CrossEntropy>> {};
struct Train : Plan<Net, Batch<8>> {};
