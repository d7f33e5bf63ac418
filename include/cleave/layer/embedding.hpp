// layer/embedding.hpp - `Embedding<50000, 64>`: the first layer of words: a learned row of 64 for each token.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../op/lookup.hpp"
#include "../op/padding.hpp"
#include "../op/tied.hpp"
#include "graph.hpp"
#include "tied.hpp"

namespace cleave {

struct SendDense : layer::Option {};
/// Of Embedding: this token is padding, to later layers over padded sequences (padding.hpp).
template <int Token> struct PadToken : layer::Option {};

/// Of Embedding: the tokens are numbers that another layer gives, as a part of several `Inputs`. Its gradient is sent
/// whole.
struct OfNumbers : layer::Option {};

namespace layer {
/// Whether an option splits a table, which has no positions.
template <class Option> inline constexpr bool splits_table = false;
template <class Option>
requires(Option::products != 't') inline constexpr bool splits_table<Option> = true;
template <class Options> inline constexpr bool has_split = false;
template <class... Ps> inline constexpr bool has_split<meta::list<Ps...>> = (splits_table<Ps> || ...);
template <int Vocabulary, int Features, class P, bool Numbers = meta::contains<OfNumbers, P>>
using lookup = std::conditional_t<
    meta::contains<Tied, P>, op::TiedLookup<Vocabulary, Features, Numbers, has_split<P>>,
    op::Lookup<Vocabulary, Features, !Numbers && !meta::contains<SendDense, P>, Numbers, has_split<P>>>;
/// Without a token that is padding, the lookup alone.
template <int Vocabulary, int Token, class Lookup> struct EmbeddingOps {
  using ops = meta::list<op::TokenMask<Vocabulary, Token, Lookup::whole_numbers>, Lookup>;
  static constexpr void connect(auto& graph) {
    int const tokens = graph.current;
    graph.join(tokens, -2);
    graph.mask = graph.current;
    graph.join(tokens, -2);
    ++graph.leaves;
  }
};
template <int Vocabulary, class Lookup> struct EmbeddingOps<Vocabulary, -1, Lookup> : Chain<Lookup> {};
}  // namespace layer

/// x (b, tokens): `Vector<tokens>`, whose elements are token numbers from 0; y (b, tokens, Features). Rows are
/// initialised normally with deviation 1. Its gradient is sent as (index, row) pairs of nonzero rows, unless
/// `SendDense` is given; the bits are the same. `PadToken<0>`: token 0 fills up samples that are shorter. `Tied`
/// (tied.hpp): a Linear behind it has this weight too. `ModelParallel<SplitRows>`: each way has the rows of some tokens
/// (of the vocabulary), and outputs are summed; a plan's own split leaves tables whole.
template <int Vocabulary, int Features, class... Options>
struct Embedding : layer::EmbeddingOps<Vocabulary, layer::number_in<PadToken, meta::list<Options...>>::or_(-1),
                                       layer::lookup<Vocabulary, Features, meta::list<Options...>>> {
  using policies = meta::list<Options...>;
  using takes = meta::list<SendDense, OfNumbers, PadToken<0>, Tied>;
  using law = layer::embedding_sizes_are_positive<Vocabulary, Features,
                                                  layer::number_in<PadToken, meta::list<Options...>>::or_(0)>;
};

}  // namespace cleave
