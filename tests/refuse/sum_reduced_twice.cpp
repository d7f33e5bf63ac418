// refused: a sum reduced twice: AllReduce wants a Partial sum
// refused: AllReduce
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net
    : Sequential<Vector<512>, Linear<64, NoBias, ModelParallel<SplitRows>>, AllReduce, AllReduce, Relu, CrossEntropy> {
};
struct Train : Plan<Net, Batch<8>, Conversions<Written>> {};
