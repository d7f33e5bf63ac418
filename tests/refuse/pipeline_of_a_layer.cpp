// refused: a layer takes options of its own
// refused: Linear<32
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Split : Sequential<Vector<64>, Linear<32, ModelParallel<SplitLayers<2>>>, CrossEntropy> {};
struct Train : Plan<Split, Batch<8>> {};
