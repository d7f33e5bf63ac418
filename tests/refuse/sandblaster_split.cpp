// refused: Sandblaster: a replica is one rank; leave ModelParallel and Mesh out
// refused: portions_are_not_split<2>
// refused: Train
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

#include <cleave/parameter_server/sandblaster.hpp>

struct Net : Sequential<Vector<512>, Linear<10>, CrossEntropy> {};
struct Train : Plan<Net, Batch<64>, DataParallel<Async>, ModelParallel<SplitCols>> {};
static_assert(sizeof(Sandblaster<Train>) > 0);
