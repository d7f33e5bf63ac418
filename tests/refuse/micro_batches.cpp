// refused: MicroBatches: the batch must divide evenly into its micro-batches
// refused: micro_batches_divide_the_batch<100, 8>
// refused: would_do<cleave::MicroBatches<10>
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Vector<512>, Linear<10>, CrossEntropy> {};
struct Train : Plan<Net, Batch<100>, MicroBatches<8>> {};
