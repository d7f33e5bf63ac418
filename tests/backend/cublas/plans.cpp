// backend/cublas/plans.cpp - whole plans whose products a library makes: the numbers of threads, and only for Fastest.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "../../train/on_device.hpp"
#include "fake.hpp"

using namespace cleave;
using namespace cleave::testing;
using backend::cublas::Choices;
using backend::cublas::KernelSource;

namespace {

struct Small : Sequential<Vector<16>, Linear<24>, Relu, Dropout<20>, Linear<16>, Tanh, Linear<8>, CrossEntropy> {};

/// A plan under a library, beside threads; what the library was asked.
template <class P>
Fake::Log as_on_threads(double tolerance, int replicas, KernelSource source = KernelSource::Library) {
  Fake::Log log;
  Choices choices("");
  Outcome const got = outcome(DeviceTrainer<P, Helped>(replicas, 7, helped(log, choices, source, 3)));
  CHECK(far(got, outcome(Trainer<P>(replicas, 7))) <= tolerance);
  return log;
}

}  // namespace

TEST_CASE("a net with activations and dropout, two replicas, in rounds") {
  using P = Of<Small, DataParallel<Sync>, Accumulate<2>, Momentum, Fastest>;
  Fake::Log const log = as_on_threads<P>(1e-5, 2);
  // The types say which ends there are: bias and relu, and bias; what ends in a tanh is not asked for.
  CHECK(log.count("describe NN 24 6 16 end 3") == 1);
  CHECK(log.count("describe NN 16 6 24") == 0);
  CHECK(log.count("describe NN 8 6 16 end 1") == 1);
  CHECK(log.count("describe TN 16 6 8 end 0") == 1);
  CHECK(log.count("describe NT 24 16 6 end 0") == 2);  // written in the first round, added to in the second
  CHECK(log.described == 0);
}
TEST_CASE("a capture asks for products and nothing else, a step for nothing at all") {
  using P = Of<Small, DataParallel<Sync>, Accumulate<2>, Momentum, Fastest>;
  Fake::Log log;
  Choices choices("");
  DeviceTrainer<P, Helped> t(2, 7, helped(log, choices));
  log.said.clear();
  long const allocated = t.machine().allocated;
  t.trace(1);  // captures both graphs again
  CHECK(log.said.size() > 0);
  CHECK(log.count("multiply") == static_cast<long>(log.said.size()));
  log.said.clear();
  t.train(0, 3, feed<P>());
  CHECK(log.said.empty());
  CHECK(t.machine().allocated == allocated);
}
TEST_CASE("columns, then rows split, in bf16") {
  using P = Of<Small, DataParallel<Sync>, ModelParallel<SplitColsRows>, Precision<bf16>, Fastest>;
  as_on_threads<P>(1e-2, 2);
}
TEST_CASE("as measured, one or the other") {
  using P = Of<Small, DataParallel<Sync>, Accumulate<2>, Momentum, Fastest>;
  as_on_threads<P>(1e-5, 1, KernelSource::Measured);
}
TEST_CASE("ordered sums have their bits from our own kernels, and no library is asked") {
  using P = Of<Mlp, DataParallel<Sync>>;
  Fake::Log log;
  Choices choices("");
  Outcome const got = outcome(DeviceTrainer<P, Helped>(2, 7, helped(log, choices, KernelSource::Library)));
  CHECK(log.said.empty());
  CHECK(got == outcome(DeviceTrainer<P, OnDevice>(2, 7, device(1))));
}
