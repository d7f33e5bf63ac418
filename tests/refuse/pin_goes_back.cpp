// refused: Pin<stage, layers...>: this layer cannot be on that stage
// refused: Linear<32>
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Vector<64>, Pin<1, Linear<32>>, Relu, Pin<0, Linear<16>>, Relu, Linear<10>, CrossEntropy> {};
struct Train : Plan<Net, Batch<8>, ModelParallel<SplitLayers<2>>> {};
