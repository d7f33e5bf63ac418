// refused: or is not complete
// refused: the_pipeline_ends<
// refused: PipelineFault::Order, 1, 0, -1>
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Vector<64>, Linear<32>, Relu, Linear<10>, CrossEntropy> {};
struct Swaps : GPipe {
  static constexpr schedule::PipelineTask task(schedule::Pipeline const& p, int stage, int k) {
    return GPipe::task(p, stage, stage == 1 && k < 2 ? 1 - k : k);
  }
};
struct Train : Plan<Net, Batch<8>, Accumulate<4>, ModelParallel<SplitLayers<2, Swaps>>> {};
