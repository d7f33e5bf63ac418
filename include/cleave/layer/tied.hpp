// layer/tied.hpp - `Tied`: two layers of a model with one weight, the table of its tokens.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "graph.hpp"

namespace cleave {

/// Of an Embedding and of the Linear behind it that scores its tokens: both read one weight, (vocabulary, features),
/// which learns from both, is stored once and is exchanged once:
///
///   struct Net : Sequential<Vector<64>, Embedding<50257, 768, Tied>, PositionEmbedding, Repeat<12, Block>,
///                           PerPosition<LayerNorm, Linear<50257, NoBias, Tied>, CrossEntropy>> {};
///
/// A plan's split leaves both whole, and a pipeline is refused. With `ModelParallel<SplitRows>` at the Embedding and
/// `ModelParallel<SplitCols>` at the Linear each way has the weights of some tokens. It starts normally with deviation
/// sqrt(1 / features). Source: Press and Wolf, "Using the output embedding to improve language models", EACL 2017.
struct Tied : layer::Option {};

}  // namespace cleave
