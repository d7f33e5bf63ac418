// train/device_trainer.cpp - plans summed by collectives on an emulated device, against the same plans on threads.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cstdio>

#include "on_device.hpp"

using namespace cleave;
using namespace cleave::testing;

TEST_CASE("data parallel: a net of many layers") {
  as_on_threads<Of<Net, DataParallel<Sync>, Momentum>>(1e-6, {1, 2, 3, 5});
}
TEST_CASE("the other layers") { as_on_threads<Of<Other, DataParallel<Sync>, Adam>>(1e-5, {1, 2}); }
TEST_CASE("f64, and sums as they come") {
#ifndef __CUDACC__  // on a GPU the same kernels, and twice the code to compile
  as_on_threads<Of<Mlp, Precision<f64>, RmsProp>>(1e-12, {1});
#endif
  as_on_threads<Of<Mlp, DataParallel<Sync>, Fastest, Adagrad>>(1e-5, {3});
}

struct Narrow : Sequential<Vector<20>, Linear<24>, Relu, Dropout<20>, Linear<16>, Gelu,
                           Residual<Linear<16>, Tanh, Linear<16>>, Linear<4>, CrossEntropy> {};
template <class... Ps> struct ManyRows : Plan<Narrow, Batch<96>, MicroBatches<12>, Ps...> {
  static constexpr Rate rate = Rate::constant(0.05f);
};
TEST_CASE("narrow products in one kernel, whose blocks do not wait for each other") {
  using P = ManyRows<DataParallel<Sync>, Momentum>;
  static_assert(P::schedule.links(0) == 4 && P::schedule.links(1) == 0);
  as_on_threads<P>(1e-6, {1, 2, 5});
  as_on_threads<ManyRows<DataParallel<Sync>, Precision<bf16>>>(4e-3, {1, 2});
  as_on_threads<ManyRows<DataParallel<Sync>, Precision<tf32>>>(1e-4, {1, 3});
  as_on_threads<ManyRows<DataParallel<Sync>, Precision<fp8>>>(4e-2, {1, 2});  // each by a kernel of its own
#ifndef __CUDACC__
  as_on_threads<ManyRows<Precision<f64>, Accumulate<2>>>(1e-12, {1});
  as_on_threads<ManyRows<DataParallel<Sync>, OneWeirdTrick<2>>>(1e-6, {1, 2});
#endif
}
TEST_CASE("layers share a message of gradients") {
  as_on_threads<Of<Mlp, DataParallel<Sync>, Buckets<4096>, Momentum>>(1e-6, {1, 3});
}
struct Tiny : Sequential<Vector<20>, Linear<1>, Linear<2, NoBias>, MeanSquaredError> {};
TEST_CASE("a message of fewer weights than there are ranks: some have no part of its sum") {
  as_on_threads<Of<Tiny, DataParallel<Sync>, Momentum>>(1e-6, {1, 3, 5});
}
/// A codec of the user's, which has no kernel.
struct Firsts : send::Codec {
  static constexpr std::string_view name = "firsts";
  static constexpr long bytes(long n) { return n > 0 ? 4 : 0; }
  template <class A> static void encode(long n, A const* g, std::byte* out) {
    if (n > 0) send::store(out, static_cast<float>(g[0]));
  }
  template <class A, class To> static void decode(long n, std::byte const* in, To to) {
    if (n > 0) to(0, static_cast<A>(send::load<float>(in)));
  }
};
TEST_CASE("what no device does is told by name") {
  CHECK(session::stays_on_host<Of<Mlp, DataParallel<Sync>>>().empty());
  CHECK(session::stays_on_host<Of<Mlp, DataParallel<Async>>>().empty());
  CHECK(session::stays_on_host<Of<Mlp, ModelParallel<SplitLayers<2>>>>() == "layers in stages (SplitLayers)");
  CHECK(session::stays_on_host<Of<Mlp, DataParallel<Sync>, Fastest, Compress<Int8>>>().empty());
  CHECK(session::stays_on_host<Of<Mlp, DataParallel<Sync>, Fastest, Compress<TopK<10>>>>().empty());
  CHECK(session::stays_on_host<Of<Mlp, DataParallel<Sync>, Fastest, Compress<Firsts>>>() ==
        "gradients compressed by a codec without a kernel (backend/gpu/kernels/coder.hpp)");
}
TEST_CASE("a checkpoint of a device goes on on threads, and back") {
  using P = Of<Mlp, DataParallel<Sync>, ModelParallel<SplitCols>, Precision<bf16>, Momentum>;
  std::string const path = "device_trainer.safetensors", back = "device_trainer.back.safetensors";
  DeviceTrainer<P, OnDevice> device(2, 7);
  device.train(0, 3, feed<P>());
  session::save(device, path, 7);
  Trainer<P> threads(1, 1);
  session::load(threads, path);
  CHECK(threads.steps() == 3);
  session::save(threads, back, 7);
  DeviceTrainer<P, OnDevice> again(1, 5);
  session::load(again, back);
  CHECK(again.train(3, 2, feed<P>()) == device.train(3, 2, feed<P>()));
  std::remove(path.c_str());
  std::remove(back.c_str());
}
TEST_CASE("a plan that does not fit the device is told before anything is allocated, and what diverges by its step") {
  struct Small : OnDevice {
    long free_bytes() const { return 1 << 20; }
  };
  using P = Of<Mlp, DataParallel<Sync>>;
  CHECK_THROWS_WITH_AS((DeviceTrainer<P, Small>(2)), doctest::Contains("the device has 1 MiB free, 2 ranks need"),
                       Error);
  DeviceTrainer<P, OnDevice> t(1);
  t.set_rate(Rate::constant(1e30f));
  CHECK_THROWS_WITH_AS(t.train(0, 9, feed<P>()), doctest::Contains("the loss is not finite at step"), Diverged);
}
