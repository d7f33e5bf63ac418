// refused: evaluate: with classes a metric takes outputs and an int: Accuracy
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cleave.hpp>
using namespace cleave;

struct Net : Sequential<Vector<2>, Linear<2>, CrossEntropy> {};
int main() {
  std::vector<float> const x(8);
  std::vector<int> const y(4);
  Predictor<Net>("a.safetensors").evaluate(x, y, MeanAbsoluteError{});
}
