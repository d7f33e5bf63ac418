// backend/cuda/steps/sequences.cu - models of sequences on a device, beside the host.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "../../../train/sequences.hpp"

using namespace sequences;

namespace {

template <class P> void as_on_host(int replicas) {
  near(trained<P>(DeviceTrainer<P, backend::cuda::Machine>(replicas, 2)), trained<P>(replicas), 1e-4);
}
struct OneTable : Sequential<Vector<positions>, Embedding<64, 8, Tied>, PositionEmbedding, Block,
                             PerPosition<LayerNorm, Linear<64, NoBias, Tied>, ParallelCrossEntropy>> {};
struct OfExperts : Sequential<Vector<positions>, Embedding<letters, 8, SendDense>,
                              Residual<PerPosition<LayerNorm>, Experts<4, Linear<12>, Gelu, Linear<8>>>,
                              PerPosition<Linear<letters>, CrossEntropy>> {};
struct Normed : Sequential<Vector<positions>, Embedding<letters, 8, SendDense>, GhostBatchNorm,
                           PerPosition<Linear<letters>, CrossEntropy>> {};

}  // namespace

TEST_CASE("transformers, recurrent layers, padding and experts") {
  as_on_host<Train<Gpt, DataParallel<Sync>>>(2);
  as_on_host<Train<Grouped, DataParallel<Sync>>>(2);
  as_on_host<Train<Cells, DataParallel<Sync>>>(2);
  as_on_host<Train<Filled, DataParallel<Sync>>>(2);
  as_on_host<Train<OfExperts, DataParallel<Sync>>>(2);
}
TEST_CASE("statistics of micro-batches, and gradients that are summed in rounds") {
  as_on_host<Train<Normed, DataParallel<Sync>>>(2);
  as_on_host<Train<Normed, DataParallel<Sync, Zero<2>>, Accumulate<2>>>(2);
  using Narrow = Train<Normed, DataParallel<Sync, Zero<2>>, Accumulate<2>, Fastest, Precision<bf16>>;
  near(trained<Narrow>(DeviceTrainer<Narrow, backend::cuda::Machine>(2, 2)), trained<Narrow>(2), 0.05);
}
TEST_CASE("parts of the positions and of the heads, and one table") {
  as_on_host<Train<OneTable, DataParallel<Sync>, ModelParallel<SplitPositions, Ways<2>>>>(2);
  as_on_host<Train<Gpt, DataParallel<Sync>, ModelParallel<SplitColsRows>, SequenceParallel>>(2);
}
