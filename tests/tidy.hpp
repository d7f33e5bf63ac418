// tidy.hpp - a net of all layers and one of tokens, each under one plan: the instances of templates that clang-tidy sees.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cleave.hpp>

namespace tidy {

using namespace cleave;

struct Images
    : Sequential<Image<2, 9, 9>, Conv<4, 3, Pad<1>>, LocalResponseNorm<3>, Relu, MaxPool<3, Stride<2>, Pad<1>>,
                 Conv<8, 3, Pad<1>, Groups<2>, NoBias>, BatchNorm, Tanh, Recompute<Residual<Conv<8, 1>, Sigmoid>, Tanh>,
                 Branches<Concat, Path<AvgPool<2, Stride<1>>>, Path<Conv<4, 2>, Gelu>>, Linear<16>, LayerNorm,
                 Dropout<20>, Linear<8, Glorot>, MeanSquaredError> {};
struct Tokens : Sequential<Vector<4>, Embedding<9, 8, Tied>, PositionEmbedding,
                           Residual<PerPosition<LayerNorm>, Attention<2, Causal>>,
                           PerPosition<Linear<8>, Gelu, Linear<9, NoBias, Tied>, CrossEntropy>> {};
struct OfImages : Plan<Images, Batch<12>, MicroBatches<6>, DataParallel<Sync>, OneWeirdTrick<2>, AdamW> {};
struct OfTokens
    : Plan<Tokens, Batch<12>, DataParallel<Sync, Zero<1>>, ModelParallel<SplitCols, Ways<2>>, Precision<bf16>, Adam> {};

inline double losses(backend::host::Feed const& feed) {
  Trainer<OfImages> images(2, 1);
  Trainer<OfTokens> tokens(2, 1);
  return images.train(0, 1, feed)[0] + tokens.train(0, 1, feed)[0] + tokens.score(feed, 12).loss;
}

}  // namespace tidy
