// refused: Ways<a, b, ...>: the ranks of a replica are an array of at most three axes
// refused: a_replica_has_few_axes<4>
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Vector<512>, Linear<64>, CrossEntropy> {};
struct Train : Plan<Net, Batch<64>, ModelParallel<SplitCols, Ways<2, 2, 2, 2>>> {};
