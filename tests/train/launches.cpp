// train/launches.cpp - a step's launches do not grow with its micro-batches: a device takes those of a rank at once.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "on_device.hpp"

using namespace cleave;
using namespace cleave::testing;

namespace {

template <class N, int Slices, class... Ps> struct InSlices : Plan<N, Batch<2 * Slices>, MicroBatches<Slices>, Ps...> {
  static constexpr Rate rate = Rate::constant(0.05f);
};
/// Of two training passes and two evaluating ones.
template <class P> long launches() {
  auto machine = device(1);
  OnDevice const& of = *machine;
  DeviceTrainer<P, OnDevice> const trainer(1, 7, std::move(machine));
  return of.launches();
}
struct Words : Sequential<Vector<5>, Embedding<9, 4, SendDense>, Linear<4>, CrossEntropy> {};

template <class N, class... Ps> void as_many_launches() {
  CHECK(launches<InSlices<N, 16, Ps...>>() == launches<InSlices<N, 2, Ps...>>());
}
}  // namespace

TEST_CASE("a step of sixteen micro-batches has the launches of a step of two") {
  as_many_launches<Net>();
  as_many_launches<Other, Fastest>();
  as_many_launches<Mlp, Precision<bf16>>();
  as_many_launches<Net, Precision<fp8>>();
  as_many_launches<Words>();
}

struct Bare : Sequential<Vector<20>, Linear<24>, Linear<16>, Linear<4>, CrossEntropy> {};
struct Dressed : Sequential<Vector<20>, Linear<24>, Relu, Dropout<20>, Linear<16>, Gelu, Linear<4>, CrossEntropy> {};
struct Norms
    : Sequential<Image<2, 8, 8>, Conv<4, 3, Pad<1>>, BatchNorm, Linear<24>, LayerNorm, Linear<4>, CrossEntropy> {};
struct DressedNorms : Sequential<Image<2, 8, 8>, Conv<4, 3, Pad<1>>, BatchNorm, Relu, Linear<24>, LayerNorm, Tanh,
                                 Dropout<10>, Linear<4>, CrossEntropy> {};

TEST_CASE("activations and dropouts, forward and back, cost no launch: they are done by what is beside them") {
  CHECK(launches<InSlices<Dressed, 4>>() == launches<InSlices<Bare, 4>>());
  CHECK(launches<InSlices<DressedNorms, 4>>() == launches<InSlices<Norms, 4>>());
}

struct Deep : Sequential<Vector<20>, Linear<132>, Linear<132>, Linear<4>, CrossEntropy> {};
struct Around : Sequential<Vector<20>, Linear<132>, Tanh, Residual<Linear<132>>, Linear<4>, CrossEntropy> {};

TEST_CASE(
    "the gradients of a residual are added, and handed on, by what makes the second: the sum itself is one launch") {
  CHECK(launches<InSlices<Around, 4>>() == launches<InSlices<Deep, 4>>() + 2);
}

struct Two : Sequential<Vector<20>, Linear<24>, Linear<4>, CrossEntropy> {};
struct Three : Sequential<Vector<20>, Linear<24>, Linear<24>, Linear<4>, CrossEntropy> {};
struct Wider : Sequential<Vector<20>, Linear<24>, Linear<129>, Linear<4>, CrossEntropy> {};

TEST_CASE("narrow products are one launch, forward and back: one more costs only its two gradients of weights") {
  CHECK(launches<InSlices<Three, 4>>() == launches<InSlices<Two, 4>>() + 2 * 2);
  CHECK(launches<InSlices<Three, 4, Precision<bf16>>>() == launches<InSlices<Two, 4, Precision<bf16>>>() + 2 * 2);
  CHECK(launches<InSlices<Wider, 4>>() > launches<InSlices<Three, 4>>());
}

struct Clipped : Momentum {
  static constexpr float clip_norm = 1;
};
TEST_CASE("the norm that gradients are clipped to is a launch for each layer with weights, and two") {
  CHECK(launches<InSlices<Three, 4, Clipped>>() == launches<InSlices<Three, 4, Momentum>>() + 2 * (3 + 2));
}
