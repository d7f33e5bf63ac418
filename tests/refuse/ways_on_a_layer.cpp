// refused: a layer has the ways of the plan
// refused: a_layer_has_the_ways_of_the_plan<false>
// refused: Linear<64,
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Vector<512>, Linear<64, ModelParallel<SplitCols, Ways<4>>>, Relu, Linear<10>, CrossEntropy> {};
struct Train : Plan<Net, Batch<128>> {};
