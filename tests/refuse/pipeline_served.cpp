// refused: a server's replicas have all layers
// refused: stages_are_of_collectives<true, true>
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Vector<64>, Linear<32>, Relu, Linear<10>, CrossEntropy> {};
struct Train : Plan<Net, Batch<8>, DataParallel<Async>, ModelParallel<SplitLayers<2>>> {};
