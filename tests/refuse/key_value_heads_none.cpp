// refused: the number of heads of keys and values is a whole number from 1
// refused: Attention<4
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Sequence<4, 8>, Attention<4, KeyValueHeads<0>>, PerPosition<Linear<2>, CrossEntropy>> {};
struct Train : Plan<Net, Batch<8>> {};
