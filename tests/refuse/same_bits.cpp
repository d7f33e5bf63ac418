// refused: same_bits: these plans need not train to the same bits
// refused: plans_with_the_same_bits<cleave::plan::BitsDifference::MicroBatches>
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

#include <cleave/plan/same_bits.hpp>

struct Net : Sequential<Vector<64>, Linear<10>, CrossEntropy> {};
struct Four : Plan<Net, Batch<16>, MicroBatches<4>, DataParallel<Sync>> {};
struct Eight : Plan<Net, Batch<16>, MicroBatches<8>, DataParallel<Sync>> {};
static_assert(same_bits<Four, Eight>);
