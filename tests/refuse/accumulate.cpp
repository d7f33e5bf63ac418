// refused: Accumulate: every replica needs a micro-batch in each of its rounds
// refused: every_round_has_a_micro_batch<16, 1, 8>
// refused: would_do<cleave::MicroBatches<16>
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Vector<512>, Linear<10>, CrossEntropy> {};
struct Train : Plan<Net, Batch<64>, MicroBatches<8>, Accumulate<16>> {};
