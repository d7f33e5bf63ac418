// backend/cudnn/plans.cpp - whole plans whose convolutions a library makes: the numbers of threads, and only for Fastest.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "../../train/on_device.hpp"
#include "../cublas/fake.hpp"
#include "fake.hpp"

using namespace cleave;
using namespace cleave::testing;
using backend::cudnn::Choices;
using backend::gpu::KernelSource;

namespace {

struct Images : Sequential<Image<2, 8, 8>, Conv<4, 3, Pad<1>>, Relu, MaxPool<2>, Conv<6, 3, Stride<2>, Pad<1>>, Tanh,
                           Conv<4, 1, Groups<2>>, Dropout<20>, Linear<4>, CrossEntropy> {};

template <class P, class M> Outcome trained(std::unique_ptr<M> machine, int replicas) {
  machine->idle = true;
  DeviceTrainer<P, M> t(replicas, 7, std::move(machine));
  t.machine().idle = false;
  return outcome(std::move(t));
}
struct Small : Sequential<Image<2, 6, 6>, Conv<4, 3>, Relu, Conv<4, 3, Pad<1>>, Linear<4>, CrossEntropy> {};

/// A plan under a library, beside threads; what the library was asked.
template <class P> FakeDnn::Log convolves(double tolerance, int replicas, KernelSource source = KernelSource::Library) {
  FakeDnn::Log log;
  Choices choices("");
  Outcome const got = trained<P>(convolved(log, choices, source, 3), replicas);
  CHECK(far(got, outcome(Trainer<P>(replicas, 7))) <= tolerance);
  return log;
}

}  // namespace

TEST_CASE("a convolutional net with every kind of end, two replicas, in rounds") {
  using P = Of<Images, DataParallel<Sync>, Accumulate<2>, Momentum, Fastest>;
  FakeDnn::Log const log = convolves<P>(1e-5, 2);
  CHECK(log.count("describe 0 6x2x8x8f 4x2x3x3f 6x4x8x8f end 3") == 1);
  CHECK(log.count("describe 0 6x4x4x4f 6x4x3x3f 6x6x2x2f end 4") == 1);  // a tanh, by a kernel of ours
  CHECK(log.count("describe 0 6x6x2x2f 4x3x1x1f 6x4x2x2f end 1") == 1);
  CHECK(log.count("describe 1 6x4x4x4f") == 1);
  CHECK(log.count("describe 1 6x2x8x8f") == 0);                               // nobody wants the input's gradient
  CHECK(log.count("describe 2 6x2x8x8f 4x2x3x3f 6x4x8x8f end 0") == 2);       // written in the first round,
  CHECK(log.count("describe 2 6x2x8x8f 4x2x3x3f 6x4x8x8f end 0 adds") == 1);  // added to in the second
  CHECK(log.described == 0);
}
TEST_CASE("a capture puts convolutions and asks nothing, a step does nothing at all") {
  using P = Of<Images, DataParallel<Sync>, Accumulate<2>, Momentum, Fastest>;
  FakeDnn::Log log;
  Choices choices("");
  auto machine = convolved(log, choices);
  machine->idle = true;  // till the end: what is computed is looked at above
  DeviceTrainer<P, Convolved> t(2, 7, std::move(machine));
  log.said.clear();
  long const allocated = t.machine().allocated;
  t.trace(1);  // captures both graphs again
  CHECK(log.said.size() > 0);
  CHECK(log.count("run") == static_cast<long>(log.said.size()));
  log.said.clear();
  t.train(0, 3, feed<P>());
  CHECK(log.said.empty());
  CHECK(t.machine().allocated == allocated);
}
TEST_CASE("in bf16, in tf32, as measured") {
  convolves<Of<Small, DataParallel<Sync>, Precision<bf16>, Fastest>>(2e-2, 1);
  convolves<Of<Small, DataParallel<Sync>, Precision<tf32>, Fastest>>(1e-3, 1);
  convolves<Of<Small, DataParallel<Sync>, Fastest>>(1e-5, 2, KernelSource::Measured);
}
TEST_CASE("what wants more than a MiB has it where the plan says so, in the arena") {
  auto const ran = [](auto plan) {
    using P = decltype(plan);
    FakeDnn::Log log;
    log.wants = 2 << 20;
    Choices choices("");
    auto machine = convolved(log, choices, KernelSource::Library);
    machine->idle = true;
    DeviceTrainer<P, Convolved> const t(1, 7, std::move(machine));
    return log.count("run");
  };
  using Usual = Of<Small, DataParallel<Sync>, Fastest>;
  using Roomy = Of<Small, DataParallel<Sync>, Fastest, Workspace<2_MiB>>;
  CHECK(ran(Usual{}) == 0);
  CHECK(ran(Roomy{}) > 0);
  static_assert(memory<Roomy>.total == memory<Usual>.total + 1_MiB);
}
TEST_CASE("convolutions by one library, products by another") {
  using P = Of<Images, DataParallel<Sync>, Fastest>;
  using Both = backend::cudnn::With<Helped, FakeDnn>;
  FakeDnn::Log log;
  Fake::Log products;
  Choices choices("");
  backend::cublas::Choices of_products("");
  auto machine = std::make_unique<Both>(FakeDnn{&log}, choices, KernelSource::Library, Fake{&products}, of_products,
                                        KernelSource::Library, std::uint64_t{3});
  log.machine = products.machine = machine.get();
  Outcome const got = trained<P>(std::move(machine), 2);
  CHECK(far(got, outcome(Trainer<P>(2, 7))) <= 1e-5);
  CHECK(log.count("run") > 0);
  CHECK(products.count("multiply") > 0);
}
TEST_CASE("ordered sums have their bits from our own kernels, and no library is asked to convolve") {
  using P = Of<Net, DataParallel<Sync>>;
  FakeDnn::Log log;
  Choices choices("");
  Outcome const got = outcome(DeviceTrainer<P, Convolved>(2, 7, convolved(log, choices, KernelSource::Library)));
  CHECK(log.said.empty());
  CHECK(got == outcome(DeviceTrainer<P, OnDevice>(2, 7, device(1))));
}
