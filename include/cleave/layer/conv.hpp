// layer/conv.hpp - convolution with bias: `Conv<64, 5, Pad<2>>`, `Conv<64, 3, Stride<2>, Groups<2>, Dilation<2>, NoBias>`.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../op/convolve.hpp"
#include "linear.hpp"

namespace cleave {

template <int> struct Pad : layer::Option {};       // zeros around the image; default 0
template <int> struct Stride : layer::Option {};    // default 1 (of a pool: its window)
template <int> struct Groups : layer::Option {};    // default 1; as many as channels: a depthwise convolution
template <int> struct Dilation : layer::Option {};  // distance of the elements under a window; default 1

namespace layer {
template <int Out, int K, class P>
using convolve = op::Convolve<Out, K, number_in<Stride, P>::or_(1), number_in<Pad, P>::or_(0),
                              number_in<Groups, P>::or_(1), start_of<P>, number_in<Dilation, P>::or_(1)>;
template <int Out, int K, class P>
using conv_law = conv_sizes_are_positive<Out, K, number_in<Stride, P>::or_(1), number_in<Pad, P>::or_(0),
                                         number_in<Groups, P>::or_(1), number_in<Dilation, P>::or_(1)>;
}  // namespace layer

/// x (b, i, h, w), y (b, Filters, h', w') with h' = (h + 2 pad - dilation (K - 1) - 1) / stride + 1.
template <int Filters, int K, class... Policies>
struct Conv : layer::biased<layer::convolve<Filters, K, meta::list<Policies...>>, meta::list<Policies...>> {
  using policies = meta::list<Policies...>;
  using takes = meta::list<NoBias, Glorot, SendFactors, SendCheapest, Stride<1>, Pad<0>, Groups<1>, Dilation<1>>;
  using law = layer::conv_law<Filters, K, policies>;
};

}  // namespace cleave
