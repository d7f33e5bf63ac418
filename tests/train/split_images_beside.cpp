// train/split_images_beside.cpp - rows of images on each rank, beside other splits, in other formats and on other machines.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "split_images.hpp"

using namespace images;

namespace {

using Array = ModelParallel<SplitAlong<SplitCols, SplitPositions>, Ways<2, 2>>;
struct Classes
    : Sequential<Image<2, 8, 8>, Conv<4, 3, Pad<1>>, BatchNorm, Relu, Conv<8, 3, Pad<1>, Groups<2>>, MaxPool<2>, Tanh,
                 ConvTranspose<6, 2, Stride<2>>, Dropout<20>, Linear<8>, Relu, Linear<4>, CrossEntropy> {};
struct Again : Sequential<Image<2, 8, 8>, Recompute<Conv<4, 3, Pad<1>>, Relu, Conv<4, 3, Pad<1>>, Relu>,
                          PixelsAsPositions, PerPosition<Linear<4>, CrossEntropy>> {};
struct Clipped : Momentum {
  static constexpr float clip_norm = 0.5f;
};
template <class... Ps>
struct OfClipped : Plan<Segments, Batch<12>, MicroBatches<6>, Precision<f64>, Clipped, DataParallel<Sync>, Ps...> {
  static constexpr Rate rate = Rate::constant(0.1f);
};

}  // namespace

TEST_CASE("channels instead of rows, and along another axis") {
  near(trained<Of<Segments, Precision<f64>, ModelParallel<SplitCols>>>(1), trained<Of<Segments, Precision<f64>>>(1),
       1e-12);
  near(trained<Of<Classes, Precision<f64>, Array>>(1), trained<Of<Classes, Precision<f64>>>(1), 1e-12);
  near(trained<Of<Segments, Precision<f64>, Array>>(2), trained<Of<Segments, Precision<f64>>>(1), 1e-12);
}
TEST_CASE("recomputed, in a pipeline, in order of the ranks, clipped, in narrow formats") {
  near(trained<Of<Again, Precision<f64>, Parts<2>>>(1), trained<Of<Again, Precision<f64>>>(1), 1e-12);
  near(trained<OfClipped<Parts<2>>>(2), trained<OfClipped<>>(1), 1e-12);
  auto const wanted = trained<Of<Segments>>(1);
  near(trained<Of<Segments, ModelParallel<SplitLayers<2>>, Parts<2>>>(1), wanted, 1e-5);
  near(trained<Of<Segments, Fastest, Parts<2>>>(2), wanted, 1e-5);
  near(trained<Of<Segments, Precision<bf16>, Parts<2>>>(1), trained<Of<Segments, Precision<bf16>>>(1), 3e-2);
}
TEST_CASE("on a device") {
  near(on_device<Of<Segments, Parts<2>>>(2), trained<Of<Segments, Parts<2>>>(1), 1e-5);
  near(on_device<Of<Classes, Array>>(1), trained<Of<Classes, Array>>(1), 1e-5);
}
