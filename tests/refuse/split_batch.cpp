// refused: SplitBatch: the plan's micro-batches must divide evenly by the ways of the split
// refused: micro_batches_divide_by_ways
// refused: 6, 4
// refused: Conv<8, 3
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Image<3, 32, 32>, Conv<8, 3>, Relu, Linear<16>, CrossEntropy> {};
struct Train : Plan<Net, Batch<12>, MicroBatches<6>, OneWeirdTrick<4>> {};
