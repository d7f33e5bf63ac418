// refused: the order is GPipe, OneForwardOneBackward
// refused: the_order_is_known<cleave::Sync, false>
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Vector<64>, Linear<32>, Relu, Linear<10>, CrossEntropy> {};
struct Train : Plan<Net, Batch<8>, ModelParallel<SplitLayers<2, Sync>>> {};
