// refused: Plan: rate is a Rate: static constexpr Rate rate = Rate::constant(0.1f);
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cleave.hpp>
using namespace cleave;

struct Net : Sequential<Vector<2>, Linear<3>, CrossEntropy> {};
struct Train : Plan<Net, Batch<4>, DataParallel<Async>, Sgd> {
  static constexpr float rate = 0.1f;
};
int main() {
  Trainer<Train> trainer({.replicas = 2});
  trainer.fit(std::vector<float>(8), std::vector<int>(4), {.epochs = 2});
}
