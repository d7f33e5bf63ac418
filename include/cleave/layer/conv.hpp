// layer/conv.hpp - convolutions with bias: `Conv<64, 5, Pad<2>>`, `Conv<64, 3, Stride<2>, Groups<2>, Dilation<2>,
// NoBias>`, `ConvTranspose<21, 4, Stride<2>, Pad<1>>`; and the pixels of an image as a sequence.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../op/pixels.hpp"
#include "../op/transposed_convolve.hpp"
#include "linear.hpp"

namespace cleave {

template <int> struct Pad : layer::Option {};       // zeros around the image; default 0
template <int> struct Stride : layer::Option {};    // default 1 (of a pool: its window)
template <int> struct Groups : layer::Option {};    // default 1; as many as channels: a depthwise convolution
template <int> struct Dilation : layer::Option {};  // distance of the elements under a window; default 1
struct Bilinear : layer::Option {};  // a transposed convolution's weights begin as those that interpolate

namespace layer {
template <int Out, int K, class P>
using convolve = op::Convolve<Out, K, number_in<Stride, P>::or_(1), number_in<Pad, P>::or_(0),
                              number_in<Groups, P>::or_(1), start_of<P>, number_in<Dilation, P>::or_(1)>;
template <int Out, int K, class P>
using conv_law = conv_sizes_are_positive<Out, K, number_in<Stride, P>::or_(1), number_in<Pad, P>::or_(0),
                                         number_in<Groups, P>::or_(1), number_in<Dilation, P>::or_(1)>;
template <int Out, int K, class P>
using transposed_convolve = op::TransposedConvolve<Out, K, number_in<Stride, P>::or_(1), number_in<Pad, P>::or_(0),
                                                   meta::contains<Bilinear, P> ? op::Start::Bilinear : start_of<P>>;
}  // namespace layer

/// x (b, i, h, w), y (b, Filters, h', w') with h' = (h + 2 pad - dilation (K - 1) - 1) / stride + 1.
template <int Filters, int K, class... Policies>
struct Conv : layer::biased<layer::convolve<Filters, K, meta::list<Policies...>>, meta::list<Policies...>> {
  using policies = meta::list<Policies...>;
  using takes = meta::list<NoBias, Glorot, SendFactors, SendCheapest, Stride<1>, Pad<0>, Groups<1>, Dilation<1>>;
  using law = layer::conv_law<Filters, K, policies>;
};

/// The adjoint of a convolution, which enlarges an image: x (b, i, h, w), y (b, Filters, h', w'), where h' is
/// stride (h - 1) + K - 2 pad. `ConvTranspose<c, 2 s, Stride<s>, Pad<s / 2>>` makes it s times as large, for even s;
/// with `Bilinear` it begins as an interpolation. Weights (i, Filters, K, K) as PyTorch's ConvTranspose2d has them.
template <int Filters, int K, class... Policies>
struct ConvTranspose
    : layer::biased<layer::transposed_convolve<Filters, K, meta::list<Policies...>>, meta::list<Policies...>> {
  using policies = meta::list<Policies...>;
  using takes = meta::list<NoBias, Glorot, Bilinear, Stride<1>, Pad<0>>;
  using law = layer::conv_transpose_sizes_are_positive<Filters, K, layer::number_in<Stride, policies>::or_(1),
                                                       layer::number_in<Pad, policies>::or_(0)>;
};

/// x (b, c, h, w), y (b, h w, c): each pixel is a position of a sequence, row after row, and has the channels as its
/// features. At the end of a model, `PixelsAsPositions, PerPosition<CrossEntropy>` compares each pixel with a class.
struct PixelsAsPositions : layer::Chain<op::Pixels> {};

}  // namespace cleave
