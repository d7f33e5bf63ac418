// refused: the norm over the gradients of all stages
// refused: stages_have_no_norm<true, true>
// refused: Clipped
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Vector<64>, Linear<32>, Relu, Linear<10>, CrossEntropy> {};
struct Clipped : Adam {
  static constexpr float clip_norm = 1;
};
struct Train : Plan<Net, Batch<8>, Clipped, ModelParallel<SplitLayers<2>>> {};
