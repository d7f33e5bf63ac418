// train/split_images.cpp - rows of images on each rank, with those that windows read of others: the training of one rank.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "split_images.hpp"

using namespace images;

namespace {

/// Windows that read rows of other ranks, or none; of an output of fewer rows; whose rows nobody reads; side by side.
struct Plain : Sequential<Image<2, 12, 10>, Conv<4, 3, Pad<1>>, Relu, Conv<3, 3>, Tanh, Linear<3>, CrossEntropy> {};
struct Pooled
    : Sequential<Image<2, 24, 8>, Conv<4, 5, Pad<2>, Stride<2>>, Gelu, MaxPool<3, Stride<1>>, Conv<4, 1>, MaxPool<2>,
                 LocalResponseNorm<3>, AvgPool<3, Pad<1>, Stride<1>>, Dropout<20>, Linear<3>, CrossEntropy> {};
struct Sparse : Sequential<Image<2, 12, 12>, Conv<4, 2, Stride<3>>, Relu, Conv<4, 2, Dilation<3>, Pad<3>, Stride<2>>,
                           Linear<3>, CrossEntropy> {};
/// What windows read of the input, or only a rank's rows of it.
struct Branched : Sequential<Image<2, 8, 8>,
                             Branches<Plus, Path<Conv<4, 3, Pad<1>>>, Path<Conv<4, 1>>, Path<Conv<4, 3, Pad<1>>, Relu>,
                                      Path<Conv<4, 5, Pad<2>>>>,
                             Linear<3>, CrossEntropy> {};
struct Normed : Sequential<Image<2, 8, 8>, Conv<4, 3, Pad<1>, NoBias>, BatchNorm, Relu,
                           Residual<Conv<4, 3, Pad<1>>, BatchNorm, Relu>, MaxPool<2>,
                           Conv<4, 3, Pad<2>, Dilation<2>, Groups<2>>, Linear<3>, CrossEntropy> {};
/// Windows of 7 reach over two ranks where each has one row.
struct Up : Sequential<Image<2, 4, 4>, Conv<2, 7, Pad<3>>, ConvTranspose<3, 4, Stride<2>, Pad<1>>, Relu,
                       ConvTranspose<4, 3, Pad<1>>, ConvTranspose<2, 2, Stride<2>>, Tanh,
                       ConvTranspose<2, 9, Stride<2>, Pad<3>>, Linear<3>, CrossEntropy> {};

template <class N, int Ways, class... Ps> void as_one_rank(double within = 1e-12, int replicas = 1) {
  INFO(Ways << " ways, " << replicas << " replicas");
  near(trained<Of<N, Precision<f64>, Parts<Ways>, Ps...>>(replicas), trained<Of<N, Precision<f64>>>(1), within);
}

// Before the second convolution and the transposed one a rank sends its neighbour a row, of 4 and 6 channels, and later
// what that gives it back as gradients. It has the whole image.
using Rows = Of<Segments, Parts<2>>;
static_assert(traffic<Rows, 1>[op::Verb::Halo] == 2 * 12 * (4 + 6) * 4);
static_assert(traffic<Of<Segments, Parts<4>>, 1, 1>[op::Verb::Halo] == 2 * traffic<Rows, 1>[op::Verb::Halo]);

}  // namespace

TEST_CASE("windows that overlap, are apart or side by side, strides, dilation, groups") {
  as_one_rank<Plain, 2>();
  as_one_rank<Pooled, 2>();
  as_one_rank<Pooled, 3>(1e-12, 2);
  as_one_rank<Sparse, 2>();
  as_one_rank<Branched, 2>();
}
TEST_CASE("statistics of batches over the rows of all ranks") {
  as_one_rank<Normed, 2>();
  as_one_rank<Normed, 4>(1e-12, 3);
}
TEST_CASE("transposed convolutions, and windows that reach over two ranks") {
  as_one_rank<Up, 2>();
  as_one_rank<Up, 4>();
}
TEST_CASE("a class for each pixel, with skip connections") {
  as_one_rank<Segments, 2>();
  as_one_rank<Segments, 4>(1e-12, 2);
}
TEST_CASE("replicas, rounds and ZeRO have the same bits") {
  auto const one = trained<Rows>(1);
  CHECK(trained<Rows>(2) == one);
  CHECK(trained<Rows>(3) == one);
  CHECK(trained<Of<Segments, Parts<2>, Accumulate<2>>>(1) == one);
  CHECK(trained<Around<Segments, DataParallel<Sync, Zero<2>>, Parts<2>>>(2) == one);
  CHECK(trained<Around<Segments, DataParallel<Sync, Zero<3>>, Parts<2>>>(3) == one);
}
