// refused: Generator: the model reads tokens, Vector<T>, and its positions see others by causal attention only
// refused: of another model sample_text takes a Predictor
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cleave.hpp>
#include <cleave/predict/generator.hpp>
using namespace cleave;

struct Net : Sequential<Vector<8>, Embedding<5, 4>, Lstm<4>, PerPosition<Linear<5>, CrossEntropy>> {};
int main() {
  Generator<Net> generate("a.safetensors");
  return static_cast<int>(generate(1)[0]);
}
