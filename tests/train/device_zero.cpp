// train/device_zero.cpp - on an emulated device optimizers in parts, gradients and weights in turn give the bits of whole ones,
// send what the constants say, and load and save whole checkpoints.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave.hpp>
#include <cleave/train/emulated.hpp>

#include "../io/scratch.hpp"
#include "signs.hpp"
#include "values.hpp"

using namespace cleave;

namespace {

struct Net : Sequential<Vector<20>, Linear<24>, LayerNorm, Relu, Linear<16>, Tanh, Linear<4>, CrossEntropy> {};
struct Pictures : Sequential<Image<2, 8, 8>, Conv<4, 3, Pad<1>>, BatchNorm, Relu, MaxPool<2>, Linear<4>, CrossEntropy> {
};
template <class N, class... Ps> struct Of : Plan<N, Batch<24>, MicroBatches<8>, Ps...> {
  static constexpr Rate rate = Rate::constant(0.02f);
};
template <class N, int stage, class... Ps> using Staged = Of<N, DataParallel<Sync, Zero<stage>>, Ps...>;
struct Halved : Momentum {
  static constexpr ParameterGroup group(Parameter p) { return {.rate = p.is_matrix() ? 0.5f : 1.0f}; }
};
struct Clipped : Adam {
  static constexpr float clip_norm = 0.05f;
};
template <class P> using OnDevice = DeviceTrainer<P, backend::emulate::Machine>;

template <class P> std::vector<double> trained(int replicas, int steps = 4) {
  OnDevice<P> t(replicas, 7);
  t.train(0, steps, signs::feed<P>());
  CHECK(session::miscounted(t, steps) == "");
  return values(t);
}
template <class N, class... Ps> void as_whole(std::initializer_list<int> replicas) {
  for (int n : replicas) {
    CAPTURE(n);
    auto const wanted = trained<Of<N, DataParallel<Sync>, Ps...>>(n);
    CHECK(trained<Staged<N, 1, Ps...>>(n) == wanted);
    CHECK(trained<Staged<N, 2, Ps...>>(n) == wanted);
    CHECK(trained<Staged<N, 3, Ps...>>(n) == wanted);
  }
}
/// Three steps by P, two by Q from its file, on a device or on threads.
template <class P, class Q> std::vector<double> gone_on(P&& first, Q&& second) {
  scratch::Folder const folder;
  first.train(0, 3, signs::feed<typename std::remove_cvref_t<P>::plan>());
  session::save(first, folder / "model.safetensors", 7);
  session::load(second, folder / "model.safetensors");
  CHECK(values(second) == values(first));
  second.train(3, 2, signs::feed<typename std::remove_cvref_t<Q>::plan>());
  return values(second);
}

}  // namespace

TEST_CASE("the bits of a plan without, by data, by columns, by both axes") {
  as_whole<Net, Adam>({1, 2, 3});
  as_whole<Net, Halved, Buckets<2048>>({3});
  as_whole<Pictures, Adam>({2});
  as_whole<Net, Adam, ModelParallel<SplitCols>>({2});
  as_whole<Net, Momentum, ModelParallel<SplitBatch>>({1, 2});
  as_whole<Pictures, Adam, OneWeirdTrick<2>>({1, 2});
}
TEST_CASE("in rounds, each of which is summed over the replicas") {
  as_whole<Net, Adam, Accumulate<2>>({1, 2, 3});
  as_whole<Net, Clipped, Accumulate<2>>({2});
  as_whole<Net, Adam, Precision<bf16>, Accumulate<4>>({2});
  as_whole<Net, Momentum, ModelParallel<SplitBatch>, Accumulate<2>>({1, 2});
  struct Dealt : Plan<Net, Batch<24>, MicroBatches<24>, Accumulate<7>, DataParallel<Sync, Zero<2>>, Adam> {};
  struct AtOnce : Plan<Net, Batch<24>, MicroBatches<24>, DataParallel<Sync>, Adam> {};
  CHECK(trained<Dealt>(3) == trained<AtOnce>(1));  // rounds of 3 and 4
}
TEST_CASE("in any order, what is kept of the rounds' sums is f32") {
  using P = Staged<Net, 2, Adam, Fastest, Accumulate<2>, Precision<bf16>>;
  static_assert(P::format.keeps_sums);
  auto const wanted = trained<Of<Net, DataParallel<Sync>, Adam, Fastest, Precision<bf16>>>(1), got = trained<P>(3);
  for (std::size_t i = 0; i < got.size(); ++i) CHECK(got[i] == doctest::Approx(wanted[i]).epsilon(0.02).scale(1));
}
TEST_CASE("narrow formats: masters in parts") {
  as_whole<Net, Adam, Precision<bf16>>({2, 3});
  as_whole<Net, Momentum, Precision<f16>, ModelParallel<SplitCols>>({2});
}
TEST_CASE("checkpoints are whole: from the device and to it") {
  auto const device = [&]<int stage>(std::integral_constant<int, stage>, int n) {
    return OnDevice<Staged<Net, stage, Adam, Precision<bf16>>>(n, 7);
  };
  using std::integral_constant;
  auto const wanted = trained<Of<Net, DataParallel<Sync>, Adam, Precision<bf16>>>(1, 5);
  CHECK(gone_on(device(integral_constant<int, 3>{}, 3), device(integral_constant<int, 1>{}, 2)) == wanted);
  CHECK(gone_on(device(integral_constant<int, 1>{}, 2), device(integral_constant<int, 3>{}, 3)) == wanted);
  CHECK(gone_on(device(integral_constant<int, 2>{}, 2), device(integral_constant<int, 2>{}, 1)) == wanted);
}
TEST_CASE("clipped, and scaled losses: the norm of parts is that of the whole, to the last bit") {
  static_assert(session::stays_on_host<Staged<Net, 3, Clipped>>().empty());
  as_whole<Net, Clipped>({1, 2, 3});
  as_whole<Net, Clipped, ModelParallel<SplitCols>, Precision<bf16>>({2});
  as_whole<Pictures, Clipped, OneWeirdTrick<2>>({2});
  as_whole<Net, Clipped, Precision<f16>, LossScale<1024, 3>, Buckets<2048>>({3});
}
