// refused: Compress: ways that do not divide a layer have zeros behind the smaller parts
// refused: compressed_zeros_stay_zeros
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

#include <cleave/send/one_bit.hpp>

struct Net : Sequential<Vector<8>, Linear<10>, CrossEntropy> {};
struct Train : Plan<Net, Batch<12>, DataParallel<Sync>, ModelParallel<SplitCols, Ways<3>>, Compress<OneBit>, Fastest> {
};
