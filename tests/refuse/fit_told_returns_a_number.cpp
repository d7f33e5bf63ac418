// refused: fit: a callback of steps or epochs returns nothing, or a bool
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cleave.hpp>
using namespace cleave;

struct Net : Sequential<Vector<2>, Linear<2>, CrossEntropy> {};
struct Train : Plan<Net, Batch<4>> {};
int main() {
  std::vector<float> const x(8);
  std::vector<int> const y(4);
  Trainer<Train>(1).fit(x, y, {}, [](Epoch const& e) { return e.epoch; });
}
