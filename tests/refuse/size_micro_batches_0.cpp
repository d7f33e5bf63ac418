// refused: MicroBatches: the batch must divide evenly
// refused: micro_batches_divide_the_batch<8, 0>
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Vector<512>, Linear<10>, CrossEntropy> {};
struct Train : Plan<Net, Batch<8>, MicroBatches<0>> {};
