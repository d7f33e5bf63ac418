// layer/attention.hpp - Attention<heads, Causal>, PositionEmbedding, SwiGlu<n>, Repeat<n, Layers...>: parts of transformers.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../op/attention.hpp"
#include "activation.hpp"
#include "linear.hpp"
#include "padding.hpp"
#include "per_position.hpp"
#include "residual.hpp"

namespace cleave {

/// Of Attention: a position attends to itself and to those before it.
struct Causal : layer::Option {};
/// Of Attention: queries and keys are turned by angles that grow with the position (rotary position embedding).
struct Rotary : layer::Option {};
/// Of Attention: there are n heads of keys and values, each of which heads / n heads of queries share.
template <int> struct KeyValueHeads : layer::Option {};

namespace layer {
template <bool There, class... Ops> using ops_if = std::conditional_t<There, meta::list<Ops...>, meta::list<>>;
template <class Ops> struct chain_of_;
template <class... Ops> struct chain_of_<meta::list<Ops...>> { using type = Chain<Ops...>; };
template <int Heads, class P, op::Start How = start_of<P>, bool Biased = !meta::contains<NoBias, P>>
using attention_ops = typename chain_of_<
    meta::concat<meta::list<op::IntoHeads<Heads, How, number_in<KeyValueHeads, P>::or_(Heads)>>,
                 ops_if<Biased, op::BiasOfHeads>, ops_if<meta::contains<Rotary, P>, op::RotatePositions>,
                 meta::list<op::Attend<meta::contains<Causal, P>, meta::contains<Padded, P>>, op::OutOfHeads<How>>,
                 ops_if<Biased, op::BiasOutOfHeads>>>::type;
template <int Heads> struct attention_has_heads {
  static constexpr bool holds = Heads >= 1;
  template <bool Holds> struct tell {
    static_assert(Holds, "Attention<heads>: the number of heads is a whole number from 1");
  };
};
template <int Heads> struct key_value_heads_are_there {
  static constexpr bool holds = Heads >= 1;
  template <bool Holds> struct tell {
    static_assert(Holds, "KeyValueHeads<n>: the number of heads of keys and values is a whole number from 1");
  };
};
template <int Heads, int KeyValue> struct key_value_heads_divide_heads {
  static constexpr bool holds = Heads % KeyValue == 0;
  template <bool Holds> struct tell {
    static_assert(Holds,
                  "Attention<heads, KeyValueHeads<n>>: n must divide the heads evenly, for as many of them share each "
                  "head of keys and values");
  };
};
template <int Heads, int KeyValue>
using attention_law = std::conditional_t<(Heads < 1), attention_has_heads<Heads>,
                                         std::conditional_t<(KeyValue < 1), key_value_heads_are_there<KeyValue>,
                                                            key_value_heads_divide_heads<Heads, KeyValue>>>;
}  // namespace layer

/// Self-attention: x (b, T, F), y (b, T, F), in `Heads` heads of F / Heads features: `Attention<4, Causal>`. With
/// `Padded`, positions that are padding are attended to by none, as by PyTorch's key_padding_mask. Weights
/// are those of PyTorch's MultiheadAttention, transposed: (F, 3, heads, F / heads) for queries, keys and values, then
/// (heads, F / heads, F), each with a bias unless NoBias. With ModelParallel<SplitColsRows> ranks have whole heads, and
/// there is one sum over ranks in each pass. Memory grows with T, not with its square.
///
/// Grouped-query attention, `Attention<8, Causal, KeyValueHeads<2>>`: heads 0 to 3 of the queries attend to head 0 of
/// keys and values, and 4 to 7 to head 1, as by PyTorch's scaled_dot_product_attention with enable_gqa. In general r =
/// heads / n heads share one: the first weight is then (F, r + 2, n, F / heads), of each of the n the queries of its r
/// heads, its key and its value, and the second (n, r F / heads, F). save_torch and export_weights write the columns in
/// the order of heads: all queries, all keys, all values. Ranks have whole heads of keys and values. Source:
/// Ainslie et al., "GQA: training generalized multi-query transformer models from multi-head checkpoints", 2023.
template <int Heads, class... Options> struct Attention : layer::attention_ops<Heads, meta::list<Options...>> {
  using policies = meta::list<Options...>;
  using takes = meta::list<Causal, Rotary, Padded, KeyValueHeads<1>, NoBias, Glorot>;
  using law = layer::attention_law<Heads, layer::number_in<KeyValueHeads, policies>::or_(Heads)>;
};

/// y = x + W, x (b, T, F): adds a learned vector for each position, since attention alone does not see the order of
/// positions.
struct PositionEmbedding : layer::Chain<op::AddPositions> {};

/// silu(x W) * (x V) without biases, the gate of Llama: `PerPosition<RmsNorm, SwiGlu<256>, Linear<64, NoBias>>`.
/// Source: Shazeer, "GLU variants improve transformer", 2020.
template <int Features>
struct SwiGlu : Branches<Times, Path<Linear<Features, NoBias>, Silu>, Path<Linear<Features, NoBias>>> {};

/// The layers n times, each time with weights of their own: `Repeat<12, Block>`. Equal blocks share their kernels.
template <int Times, class... Layers> struct Repeat {
  using layers = meta::concat<meta::list<Layers...>, typename Repeat<Times - 1, Layers...>::layers>;
  using join_layers = meta::list<>;
  using ops = meta::concat<layer::ops_of<Layers>..., typename Repeat<Times - 1, Layers...>::ops>;
  static constexpr void connect(auto& graph) {
    for (int i = 0; i < Times; ++i) layer::connect<Layers...>(graph);
  }
};
template <class... Layers> struct Repeat<1, Layers...> : Path<Layers...> {};
template <int Times, class... Layers>
requires(Times < 1) struct Repeat<Times, Layers...> : layer::Chain<> {
  using law = layer::repeated_at_least_once<Times>;
};

}  // namespace cleave
