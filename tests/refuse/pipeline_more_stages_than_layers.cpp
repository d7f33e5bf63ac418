// refused: at most as many parts as the model
// refused: every_part_of_a_pipeline_has_a_layer<8, 1, 4>
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Vector<64>, Linear<32>, Relu, Linear<10>, CrossEntropy> {};
struct Train : Plan<Net, Batch<8>, ModelParallel<SplitLayers<8>>> {};
