// refused: SplitBatch: each way has at least one of the plan's micro-batches
// refused: every_way_has_a_micro_batch
// refused: 3, 4
// refused: Conv<8, 3
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Image<3, 32, 32>, Conv<8, 3>, Relu, Linear<16>, CrossEntropy> {};
struct Train : Plan<Net, Batch<12>, MicroBatches<3>, OneWeirdTrick<4>> {};
