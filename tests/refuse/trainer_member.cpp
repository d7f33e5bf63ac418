// refused: this optimizer does not read the member
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cleave.hpp>
using namespace cleave;

struct Net : Sequential<Vector<2>, Linear<3>, CrossEntropy> {};
struct Clipped : Adam {
  static constexpr float clip = 1;
};
struct Train : Plan<Net, Batch<4>, Clipped> {};
int main() {
  Trainer<Train> trainer({.replicas = 1});
  trainer.fit(std::vector<float>(8), std::vector<int>(4), {.epochs = 2});
  return trainer.predictor().classes(std::vector<float>(2))[0];
}
