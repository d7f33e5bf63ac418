// refused: ReduceBy: no route; there are Ring, Tree, HalvingDoubling
// refused: Momentum
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Vector<512>, Linear<10>, CrossEntropy> {};
struct Train : Plan<Net, Batch<8>, DataParallel<Sync>, ReduceBy<Momentum>, Fastest> {};
