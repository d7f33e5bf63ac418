// refused: ModelParallel: each way has at least one
// refused: every_way_has_a_part
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Vector<8>, Linear<64>, Relu, Linear<10>, CrossEntropy> {};
struct Train : Plan<Net, Batch<12>, DataParallel<Sync>, ModelParallel<SplitCols, Ways<12>>, Buckets<1'000>> {};
