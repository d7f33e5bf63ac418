// refused: a predictor is of its model: Predictor<Train::Net>
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cleave.hpp>
using namespace cleave;

struct Net : Sequential<Vector<4>, Linear<3>, CrossEntropy> {};
struct Train : Plan<Net, Batch<32>, Sgd> {};
int main() {
  Predictor<Train> predict("checkpoint.safetensors");
  std::vector<float> const x(4);
  return predict.classes(x)[0];
}
