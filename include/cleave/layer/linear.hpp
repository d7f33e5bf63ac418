// layer/linear.hpp - y = x W + b over all features of a sample: `Linear<384>`, `Linear<384, NoBias>`.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <type_traits>

#include "../op/bias.hpp"
#include "../op/product.hpp"
#include "../op/tied.hpp"
#include "graph.hpp"
#include "tied.hpp"

namespace cleave {

struct NoBias : layer::Option {};
struct Glorot : layer::Option {};  // uniform in +-sqrt(6/(in+out)); otherwise He: normal, deviation sqrt(2/in)
/// SendFactors: ranks send each other the factors x and dy of the layer's gradient (K + N elements a sample of the
/// whole batch), and each computes the whole gradient from them; SendCheapest: only if that is fewer elements than 2 K
/// N. The bits are those of sent sums. Source: Xie et al., "Lighter-communication distributed machine learning via
/// sufficient factor broadcasting", UAI 2016.
struct SendFactors : layer::Option {};
struct SendCheapest : layer::Option {};

namespace layer {
template <class Policies>
inline constexpr op::Start start_of = meta::contains<Glorot, Policies> ? op::Start::Glorot : op::Start::He;
template <class Product, class Policies>
using biased = std::conditional_t<meta::contains<NoBias, Policies>, Chain<Product>, Chain<Product, op::Bias>>;
template <int Out, class Policies>
using product_of = std::conditional_t<meta::contains<Tied, Policies>, op::TransposedProduct<Out>,
                                      op::Product<Out, start_of<Policies>>>;
}  // namespace layer

/// x (b, i), W (i, Out), y (b, Out). Images are flattened. `Tied` (tied.hpp): W is the table of an earlier Embedding.
template <int Out, class... Policies>
struct Linear : layer::biased<layer::product_of<Out, meta::list<Policies...>>, meta::list<Policies...>> {
  using policies = meta::list<Policies...>;
  using takes = std::conditional_t<meta::contains<Tied, policies>, meta::list<NoBias, Tied>,
                                   meta::list<NoBias, Glorot, SendFactors, SendCheapest>>;
  using law = layer::linear_has_features<Out>;
};

}  // namespace cleave
