// refused: Trainer<Plan>: this is no plan: struct Train : Plan<Net, Batch<128>, ...> {}; a model is none
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cleave.hpp>
using namespace cleave;

struct Net : Sequential<Vector<2>, Linear<2>, CrossEntropy> {};
int main() {
  std::vector<float> const x(8);
  std::vector<int> const y(4);
  Trainer<Net> trainer;
  trainer.fit(x, y, {.epochs = 1});
  trainer.save("net.safetensors");
}
