// refused: SplitLayers<stages> takes no Ways
// refused: stages_are_not_ways<4>
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Vector<512>, Linear<64>, Relu, Linear<10>, CrossEntropy> {};
struct Train : Plan<Net, Batch<8>, ModelParallel<SplitLayers<2>, Ways<4>>> {};
