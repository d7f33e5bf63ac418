// refused: Predictor: classes are of a model that ends with CrossEntropy; of another take its outputs
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cleave.hpp>
using namespace cleave;

struct Net : Sequential<Vector<4>, Linear<2>, MeanSquaredError> {};
int main() { return Predictor<Net>("a.safetensors").classes(std::vector<float>(4))[0]; }
