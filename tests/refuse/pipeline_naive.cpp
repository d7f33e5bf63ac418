// refused: this order of tasks does not end
// refused: the_pipeline_ends<
// refused: PipelineFault::Waits, 0, 1, 1>
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Vector<64>, Linear<32>, Relu, Linear<10>, CrossEntropy> {};
struct Alone : OneForwardOneBackward {
  static constexpr auto transfers = schedule::PipelineTransfers::Alone;
};
struct Train : Plan<Net, Batch<8>, Accumulate<4>, ModelParallel<SplitLayers<2, Alone>>> {};
