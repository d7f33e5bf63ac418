// refused: pinned_layers_are_on_their_stage<2, 2, false>
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Vector<64>, Linear<32>, Relu, Pin<2, Linear<10>>, CrossEntropy> {};
struct Train : Plan<Net, Batch<8>, ModelParallel<SplitLayers<2>>> {};
