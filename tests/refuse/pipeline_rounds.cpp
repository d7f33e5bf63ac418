// refused: in groups of as many as there are stages
// refused: interleaved_rounds_are_whole_groups<3, 2, true>
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Vector<64>, Linear<32>, Relu, Linear<10>, CrossEntropy> {};
struct Train : Plan<Net, Batch<6>, Accumulate<3>, ModelParallel<SplitLayers<2, Interleaved<2>>>> {};
