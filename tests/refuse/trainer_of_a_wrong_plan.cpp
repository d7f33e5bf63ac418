// refused: MicroBatches: the batch must divide evenly into its micro-batches
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cleave.hpp>
using namespace cleave;
struct Net : Sequential<Vector<3>, Linear<2>, CrossEntropy> {};
struct Bad : Plan<Net, Batch<24>, MicroBatches<7>> {};
int main() {
  std::vector<float> x(9);
  std::vector<int> y(3);
  Trainer<Bad> t({.replicas = 2});
  t.fit(x, y, {.epochs = 3, .validation = 0.1});
  t.save("a");
  t.evaluate(x, y);
  for (auto const& at : t.batches(x, y, {.epochs = 2})) t.step(at);
}
