// train/device_clip.cpp - plans that clip their gradients on an emulated device against threads; any number of replicas.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "on_device.hpp"

using namespace cleave;
using namespace cleave::testing;

namespace {
struct Clipping : Momentum {
  static constexpr float clip_norm = 0.05f, weight_decay = 0.01f;
};
struct ClippingAdam : Adam {
  static constexpr float clip_norm = 0.05f;
};
struct Loose : Momentum {
  static constexpr float clip_norm = 1e6f;
};
struct Wide : Sequential<Vector<20>, Linear<400>, Relu, Linear<24>, Gelu, Linear<4>, CrossEntropy> {};  // in pieces
}  // namespace

TEST_CASE("clipped, data parallel: the bits of one replica") {
  as_on_threads<Of<Wide, DataParallel<Sync>, Clipping>>(1e-6, {1, 2, 3});
  as_on_threads<Of<Net, DataParallel<Sync>, Clipping>>(1e-5, {1, 2});
#ifndef __CUDACC__  // on a GPU the same kernels, and twice the code to compile
  as_on_threads<Of<Other, DataParallel<Sync>, ClippingAdam>>(1e-5, {1, 2});
  as_on_threads<Of<Mlp, DataParallel<Sync>, Clipping, Precision<f64>>>(1e-12, {1, 3});
#endif
  as_on_threads<Of<Mlp, DataParallel<Sync>, Clipping, Precision<bf16>, Accumulate<2>>>(1e-3, {1, 2});
}
TEST_CASE("clipped over the ways of a model") {
  as_on_threads<Of<Mlp, DataParallel<Sync>, ModelParallel<SplitCols>, Clipping>>(1e-6, {1, 2});
#ifndef __CUDACC__
  as_on_threads<Of<Mlp, ModelParallel<SplitRows, Ways<4>>, Clipping>>(1e-6, {1});
  as_on_threads<Of<Net, DataParallel<Sync>, OneWeirdTrick<2>, Clipping>>(1e-5, {1, 2});
#endif
}
TEST_CASE("clipped, whichever layers share a message; encoded; by a route") {
  Outcome const apart = outcome(DeviceTrainer<Of<Mlp, DataParallel<Sync>, Clipping>, OnDevice>(2, 7)),
                joined = outcome(DeviceTrainer<Of<Mlp, DataParallel<Sync>, Buckets<1500>, Clipping>, OnDevice>(3, 7));
  CHECK(apart == joined);
  as_on_threads<Of<Mlp, DataParallel<Sync>, Fastest, Compress<Int8>, Clipping>>(1e-5, {2});
#ifndef __CUDACC__
  as_on_threads<Of<Mlp, DataParallel<Sync>, Fastest, Compress<TopK<200>>, Clipping>>(1e-5, {3});
  as_on_threads<Of<Mlp, DataParallel<Sync>, Fastest, ReduceBy<Ring>, Clipping>>(1e-5, {3});
#endif
}
TEST_CASE("a norm below clip_norm changes no bit") {
  CHECK(outcome(DeviceTrainer<Of<Mlp, DataParallel<Sync>, Loose>, OnDevice>(2, 7)) ==
        outcome(DeviceTrainer<Of<Mlp, DataParallel<Sync>, Momentum>, OnDevice>(2, 7)));
}
