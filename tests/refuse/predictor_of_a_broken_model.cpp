// refused: an input comes first
// lines: 35
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cleave.hpp>
using namespace cleave;

struct Net : Sequential<Linear<3>, CrossEntropy> {};
int main() {
  Predictor<Net> predict("checkpoint.safetensors");
  std::vector<float> const x(4);
  return predict.classes(x)[0];
}
