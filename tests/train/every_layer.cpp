// train/every_layer.cpp - nets of all layers, trained under every way to cut it; what the sanitizers look at.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave.hpp>

using namespace cleave;

namespace {

struct All
    : Sequential<Image<2, 9, 9>, Conv<4, 3, Pad<1>>, LocalResponseNorm<3>, Relu, MaxPool<3, Stride<2>, Pad<1>>,
                 Conv<8, 3, Pad<1>, Groups<2>, NoBias>, BatchNorm, Tanh, Recompute<Residual<Conv<8, 1>, Sigmoid>, Tanh>,
                 Branches<Concat, Path<AvgPool<2, Stride<1>>>, Path<Conv<4, 2>, Gelu>>, Linear<16>, LayerNorm,
                 Dropout<20>, Linear<8, Glorot>, MeanSquaredError> {};
struct Weird : Plan<All, Batch<12>, MicroBatches<6>, DataParallel<Sync>, OneWeirdTrick<2>, AdamW> {};
struct Unsplit : Plan<All, Batch<12>, MicroBatches<6>, DataParallel<Sync>, AdamW> {};
struct Narrow : Plan<All, Batch<12>, MicroBatches<6>, DataParallel<Sync>, Precision<bf16>, Nesterov> {};
struct Tensor : Plan<All, Batch<12>, MicroBatches<6>, DataParallel<Sync>, Precision<tf32>, Momentum> {};
struct Eight : Plan<All, Batch<12>, MicroBatches<6>, DataParallel<Sync>, Precision<fp8>, Momentum> {};
struct Cols : Plan<All, Batch<12>, ModelParallel<SplitCols>, Precision<f64>, RmsProp> {};

/// What reads tokens.
struct Words : Sequential<Vector<4>, Embedding<9, 8, Tied>, PositionEmbedding,
                          Recompute<Residual<PerPosition<LayerNorm>, Attention<2, Causal>>>,
                          PerPosition<Linear<8>, Gelu, Linear<9, NoBias, Tied>, CrossEntropy>> {};
struct WordsWhole : Plan<Words, Batch<12>, MicroBatches<6>, DataParallel<Sync>, AdamW> {};
struct WordsInColumns
    : Plan<Words, Batch<12>, MicroBatches<6>, DataParallel<Sync>, ModelParallel<SplitCols, Ways<2>>, AdamW> {};

template <class P> double last_loss(int replicas) {
  Trainer<P> trainer(replicas, 2);
  session::Probing<P> probe;
  if constexpr (std::is_same_v<typename P::Net, Words>)
    for (double& x : probe.x) x = std::min(8.0, std::floor(std::abs(x) * 4));
  trainer.train(0, 3, probe.feed());
  auto const seen = trainer.accuracy(probe.feed(), 10);
  CHECK(seen >= 0);
  CHECK(seen <= 1);
  double const loss = trainer.train(3, 3, probe.feed()).back();
  CHECK(session::miscounted(trainer, 6, 1) == "");
  return loss;
}

}  // namespace

TEST_CASE("all layers together, cut in every way") {
  double const whole = last_loss<Cols>(1);
  CHECK(std::isfinite(whole));
  double const unsplit = last_loss<Unsplit>(1);
  for (int n : {1, 2, 3}) CHECK(last_loss<Weird>(n) == doctest::Approx(unsplit).epsilon(1e-5));
  CHECK(last_loss<Narrow>(3) == last_loss<Narrow>(1));
  CHECK(last_loss<Tensor>(3) == last_loss<Tensor>(1));
  CHECK(last_loss<Eight>(3) == last_loss<Eight>(1));
  double const words = last_loss<WordsWhole>(1);
  CHECK(last_loss<WordsWhole>(3) == words);
  CHECK(last_loss<WordsInColumns>(2) == doctest::Approx(words).epsilon(1e-5));
}
