// plan/plan.cpp - policies in any order, defaults, and what a plan fixes.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave.hpp>

using namespace cleave;

namespace {
struct Net : Sequential<Vector<16>, Linear<8>, Relu, Linear<4>, CrossEntropy> {};
struct A : Plan<Net, Batch<48>, DataParallel<Sync>, Adam, Precision<bf16>, Fastest> {};
struct B : Plan<Net, Fastest, Precision<bf16>, Adam, DataParallel<Sync>, Batch<48>> {};
static_assert(A::micro_batches == 8 && A::replicas == 0 && A::ways == 1 && !A::format.ordered);
static_assert(memory<A>.total == memory<B>.total && traffic<A>.bytes_per_step == traffic<B>.bytes_per_step);
static_assert(std::is_same_v<A::optimizer, B::optimizer> && std::is_same_v<A::number, bf16>);

struct Bare : Plan<Net, Batch<6>> {};
static_assert(Bare::micro_batches == 1 && Bare::replicas == 1 && Bare::format.ordered &&
              std::is_same_v<Bare::optimizer, Sgd>);
struct Odd : Plan<Net, Batch<6>, DataParallel<Sync>> {};
static_assert(Odd::micro_batches == 2);  // the largest power of two that divides

struct Layered : Plan<Sequential<Vector<16>, Linear<8, ModelParallel<SplitCols>>, CrossEntropy>, Batch<8>> {};
static_assert(Layered::ways == 2);  // a layer asks to be cut, nobody says how often
struct Meshed : Plan<Net, Batch<8>, Mesh<Data<2>, Model<4>>, ModelParallel<SplitCols>> {};
static_assert(Meshed::ways == 4 && Meshed::replicas == 2);

static_assert(fits<Bare, 2_MiB> && memory<Bare>.total > 1_MiB);  // one MiB is workspace
struct Roomy : Plan<Net, Batch<8>, Fastest, Workspace<64_MiB>> {};
struct Usual : Plan<Net, Batch<8>, Fastest> {};
static_assert(memory<Roomy>.total == memory<Usual>.total + 63_MiB);
static_assert(memory<Roomy>[schedule::Category::Workspace] == 64_MiB);
}  // namespace

namespace {
struct Mine : AdamW {
  static constexpr float clip_norm = 1, default_rate = 0.5f;
};
}  // namespace
TEST_CASE("a plan that says no rate has that of its optimizer") {
  using Net = Sequential<Vector<4>, Linear<2>, MeanSquaredError>;
  CHECK(Plan<Net, Batch<8>>::rate == Rate::constant(0.01f));
  CHECK(Plan<Net, Batch<8>, Momentum>::rate == Rate::constant(0.01f));
  CHECK(Plan<Net, Batch<8>, Adam>::rate == Rate::constant(0.001f));
  CHECK(Plan<Net, Batch<8>, AdamW, Precision<f16>, LossScale<>>::rate == Rate::constant(0.001f));
  CHECK(Plan<Net, Batch<8>, Mine>::rate == Rate::constant(0.5f));
}
TEST_CASE("more replicas need less activation memory each, and the same for weights") {
  CHECK(memory<A, 8>[schedule::Category::Activations] < memory<A, 1>[schedule::Category::Activations]);
  CHECK(memory<A, 8>[schedule::Category::Weights] == memory<A, 1>[schedule::Category::Weights]);
}
