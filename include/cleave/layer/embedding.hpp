// layer/embedding.hpp - `Embedding<50000, 64>`: the first layer of words: a learned row of 64 for each token.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../op/lookup.hpp"
#include "graph.hpp"

namespace cleave {

struct SendDense : layer::Option {};

/// x (b, tokens): `Vector<tokens>`, whose elements are token numbers from 0; y (b, tokens, Features). Rows are
/// initialised normally with deviation 1. Its gradient is sent as (index, row) pairs of nonzero rows, unless
/// `SendDense` is given; the bits are the same.
template <int Vocabulary, int Features, class... Options>
struct Embedding : layer::Chain<op::Lookup<Vocabulary, Features, !meta::contains<SendDense, meta::list<Options...>>>> {
  using policies = meta::list<Options...>;
  using takes = meta::list<SendDense>;
  using law = layer::embedding_sizes_are_positive<Vocabulary, Features>;
};

}  // namespace cleave
