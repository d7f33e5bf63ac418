// train/device_sequences.cpp - models of sequences on the emulated device, beside the host.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sequences.hpp"

#include <cleave/train/emulated.hpp>

using namespace sequences;

namespace {

template <class P> std::vector<double> on_device(int replicas) {
  return trained<P>(DeviceTrainer<P, backend::emulate::Machine>(replicas, 2));
}

struct Tokens : Sequential<Vector<1>, Embedding<1000, 8>, Linear<4>, CrossEntropy> {};
template <class Number> struct Wide : Plan<Tokens, Batch<8>, MicroBatches<2>, Precision<Number>, Adam> {};

}  // namespace

TEST_CASE_TEMPLATE("a device has the numbers of the host", Net, Gpt, Tables, Grouped, Cells, Last, Filled) {
  using P = Train<Net, DataParallel<Sync>>;
  auto const host = trained<P>(1), one = on_device<P>(1);
  near(one, host, 1e-4);
  CHECK(on_device<P>(2) == one);
}
TEST_CASE_TEMPLATE("tokens keep their digits in narrow formats, on the host, on a device and in a predictor", Number,
                   bf16, f16, fp8) {
  using P = Wide<Number>;
  std::vector<float> x;
  std::vector<int> y;
  for (int i = 0; i < 64; ++i)
    x.push_back(static_cast<float>(900 + i)), y.push_back(i * 7 % 4);  // one in bf16: 904 to 907
  Trainer<P> host(1, 3);
  DeviceTrainer<P, backend::emulate::Machine> device(1, 3);
  FitOptions how{.epochs = 60};
  how.rate = Rate::constant(0.05f);
  host.fit(x, y, how);
  device.fit(x, y, how);
  CHECK(host.evaluate(x, y).accuracy == 1);
  CHECK(device.evaluate(x, y).accuracy == 1);
  if constexpr (!std::is_same_v<Number, fp8>) CHECK(host.predictor().evaluate(x, y, Accuracy{}).value() == 1);
  CHECK_THROWS_WITH_AS(host.evaluate(std::vector<float>{1000}, std::vector<int>{0}), doctest::Contains("no token"),
                       Error);
}
