// refused: Blocks: partial sums are summed over the ranks right behind their product
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Vector<512>, Linear<10, NoBias>, AllReduce, CrossEntropy> {};
struct Train : Plan<Net, Batch<8>, ModelParallel<SplitRows>, Conversions<Written>, Blocks<2>> {};
