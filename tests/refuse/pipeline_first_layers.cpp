// refused: each larger than the one before
// refused: first_layers_are_one_of_each_part<false, 2, 2>
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Vector<64>, Linear<32>, Relu, Linear<10>, CrossEntropy> {};
struct Train : Plan<Net, Batch<8>, ModelParallel<SplitLayers<2, GPipe, FirstLayers<1, 2>>>> {};
