// refused: or the n of KeyValueHeads<n>
// refused: 2, 4
// refused: Attention<8
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Sequence<4, 16>, Attention<8, KeyValueHeads<2>>, PerPosition<Linear<4>, CrossEntropy>> {};
struct Train : Plan<Net, Batch<8>, ModelParallel<SplitColsRows, Ways<4>>> {};
