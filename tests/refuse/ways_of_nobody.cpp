// refused: Mesh: ways and replicas are whole numbers from 1
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Vector<512>, Linear<64>, CrossEntropy> {};
struct Train : Plan<Net, Batch<64>, ModelParallel<SplitCols, Ways<2, 0>>> {};
