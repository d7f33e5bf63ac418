// train/loss_scale.cpp - plans with a LossScale, on threads and on an emulated device.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <filesystem>

#include "../io/scratch.hpp"
#include "on_device.hpp"

using namespace cleave;
using namespace cleave::testing;

namespace {
using Large = LossScale<(1L << 40), 1000>;

/// Three steps, of which the inputs of the second are large.
template <class P> backend::host::Feed with_large_inputs() {
  backend::host::Feed f = feed<P>();
  f.pixels = [](void const*, long step, long first, int count, float* out) {
    feed<P>().pixels(nullptr, step, first, count, out);
    for (long i = 0; step == 1 && i < count * P::Net::input::shape.size(); ++i) out[i] *= 1e30f;
  };
  return f;
}
template <class Trained> std::vector<double> kept(Trained const& trained, backend::host::Region region) {
  auto& t = const_cast<Trained&>(trained);
  std::vector<double> out;
  for (session::Kept const& k : session::kept<typename Trained::plan>()) {
    if (k.region != region) continue;
    for (auto v : session::whole(t, k)) out.push_back(static_cast<double>(v));
  }
  return out;
}
using backend::host::Region;

template <class Scaled, class Plain> void changes_no_bit(int replicas) {
  INFO(replicas << " replicas");
  Trainer<Scaled> scaled(replicas, 7);
  Trainer<Plain> plain(replicas, 7);
  CHECK(scaled.train(0, 5, feed<Scaled>()) == plain.train(0, 5, feed<Plain>()));
  CHECK(session::miscounted(scaled, 5) == "");
  for (Region r : {Region::Weights, Region::Moments}) CHECK(kept(scaled, r) == kept(plain, r));
}
}  // namespace

TEST_CASE("a factor changes no bit of losses, weights and moments, unless a gradient leaves the format") {
  changes_no_bit<Of<Mlp, Adam, LossScale<>>, Of<Mlp, Adam>>(1);
  changes_no_bit<Of<Mlp, DataParallel<Sync>, Momentum, Large>, Of<Mlp, DataParallel<Sync>, Momentum>>(3);
  changes_no_bit<Of<Mlp, DataParallel<Sync>, ModelParallel<SplitCols>, Accumulate<2>, LossScale<4, 1>>,
                 Of<Mlp, DataParallel<Sync>, ModelParallel<SplitCols>, Accumulate<2>>>(2);
  changes_no_bit<Of<Mlp, DataParallel<Sync>, Precision<bf16>, Large>, Of<Mlp, DataParallel<Sync>, Precision<bf16>>>(2);
}
TEST_CASE("in f16 gradients that would be rounded to zero are not") {
  using Plain = Of<Mlp, DataParallel<Sync>, Precision<f16>>;
  using Scaled = Of<Mlp, DataParallel<Sync>, Precision<f16>, LossScale<1024>>;
  auto const small = [](auto const& f) {  // inputs whose gradients are below 2^-24
    auto g = f;
    g.pixels = [](void const*, long step, long first, int count, float* out) {
      feed<Plain>().pixels(nullptr, step, first, count, out);
      for (long i = 0; i < count * Plain::Net::input::shape.size(); ++i) out[i] *= 1e-6f;
    };
    return g;
  };
  auto const moved = [&]<class P>(P*) {
    Trainer<P> t(2, 7);
    auto const before = kept(t, Region::Weights);
    t.train(0, 1, small(feed<P>()));
    auto const after = kept(t, Region::Weights);
    long n = 0;
    for (std::size_t i = 0; i < 20 * 24; ++i) n += before[i] != after[i];
    return n;
  };
  CHECK(moved(static_cast<Scaled*>(nullptr)) > moved(static_cast<Plain*>(nullptr)));
}
TEST_CASE("a step whose gradients are not finite updates no weight and halves the factor") {
  using P = Of<Mlp, DataParallel<Sync>, Momentum, Large>;
  for (int replicas : {1, 3}) {
    Trainer<P> skips(replicas, 7), leaves_out(replicas, 7);
    skips.train(0, 3, with_large_inputs<P>());
    CHECK(kept(skips, Region::States) == std::vector<double>{-1, 2});
    leaves_out.train(0, 1, feed<P>());
    leaves_out.train(2, 1, feed<P>());
    CHECK(kept(leaves_out, Region::States) == std::vector<double>{0, 3});
    for (Region r : {Region::Weights, Region::Moments}) CHECK(kept(skips, r) == kept(leaves_out, r));
  }
}
TEST_CASE("the factor is saved: a resumed run has the bits of one that was not interrupted") {
  using P = Of<Mlp, DataParallel<Sync>, Momentum, LossScale<(1L << 40), 2>>;
  scratch::Folder const folder;
  std::string const file = folder / "scaled.safetensors";
  Trainer<P> through(2, 7), before(2, 7), after(3, 8);
  through.train(0, 6, with_large_inputs<P>());
  before.train(0, 3, with_large_inputs<P>());
  session::save(before, file, 7, true);
  session::load(after, file);
  after.train(3, 3, feed<P>());
  CHECK(kept(after, Region::States) == kept(through, Region::States));
  CHECK(kept(after, Region::Weights) == kept(through, Region::Weights));
}
TEST_CASE("on a device as on threads") {
  as_on_threads<Of<Mlp, DataParallel<Sync>, Momentum, LossScale<256, 2>>>(1e-6, {1, 2});
  as_on_threads<Of<Other, DataParallel<Sync>, LossScale<256, 2>>>(1e-5, {1, 2});
  as_on_threads<Of<Mlp, DataParallel<Sync>, ModelParallel<SplitRows>, LossScale<256, 2>>>(1e-6, {1});
  as_on_threads<Of<Mlp, DataParallel<Sync>, Precision<f16>, LossScale<>>>(4e-3, {1, 3});
}
TEST_CASE("on a device too a step is skipped") {
  using P = Of<Mlp, DataParallel<Sync>, Momentum, Large>;
  DeviceTrainer<P, OnDevice> skips(2, 7, device(2)), leaves_out(2, 7, device(3));
  skips.train(0, 3, with_large_inputs<P>());
  CHECK(kept(skips, Region::States) == std::vector<double>{-1, 2});
  leaves_out.train(0, 1, feed<P>());
  leaves_out.train(2, 1, feed<P>());
  for (Region r : {Region::Weights, Region::Moments}) CHECK(kept(skips, r) == kept(leaves_out, r));
}
