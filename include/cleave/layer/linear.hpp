// layer/linear.hpp - y = x W + b over all features of a sample: `Linear<384>`, `Linear<384, NoBias>`.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <type_traits>

#include "../op/bias.hpp"
#include "../op/product.hpp"
#include "graph.hpp"

namespace cleave {

struct NoBias : layer::Option {};
struct Glorot : layer::Option {};  // uniform in +-sqrt(6/(in+out)); otherwise He: normal, deviation sqrt(2/in)

namespace layer {
template <class Policies>
inline constexpr op::Start start_of = meta::contains<Glorot, Policies> ? op::Start::Glorot : op::Start::He;
template <class Product, class Policies>
using biased = std::conditional_t<meta::contains<NoBias, Policies>, Chain<Product>, Chain<Product, op::Bias>>;
}  // namespace layer

/// x (b, i), W (i, Out), y (b, Out). Images are taken as flat vectors.
template <int Out, class... Policies>
struct Linear : layer::biased<op::Product<Out, layer::start_of<meta::list<Policies...>>>, meta::list<Policies...>> {
  using policies = meta::list<Policies...>;
};

}  // namespace cleave
