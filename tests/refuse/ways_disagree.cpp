// refused: Mesh and ModelParallel name different ways
// refused: the_ways_agree<cleave::Ways<4>, cleave::Ways<2>
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Vector<512>, Linear<12>, CrossEntropy> {};
struct Train : Plan<Net, Batch<64>, ModelParallel<SplitCols, Ways<4>>, Mesh<Data<2>, Model<2>>> {};
