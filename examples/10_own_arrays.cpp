// 10_own_arrays - a curve learnt from a program's own arrays: validation, early stopping, a file, predictions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cleave.hpp>

#include <array>
#include <cmath>
#include <cstdio>

using namespace cleave;

struct Net : Sequential<Vector<1>, Linear<32>, Tanh, Linear<1>, MeanSquaredError> {};
struct Train : Plan<Net, Batch<32>, DataParallel<Sync>, Adam> {
  static constexpr Rate rate = Rate::constant(0.01f);
};

int main() {
  std::vector<float> x(2000), y(2000);
  for (std::size_t i = 0; i < x.size(); ++i) y[i] = std::sin(x[i] = 0.00314f * static_cast<float>(i));

  Trainer<Train> trainer({.replicas = 2});
  History const h = trainer.fit(x, y, {.epochs = 200, .validation = 0.1, .patience = 5});
  trainer.save("sine.safetensors");

  Predictor<Net> sine("sine.safetensors");
  std::printf("%zu epochs, best %d: val_loss %.6f\n", h.epochs.size(), h.best().epoch, h.best().val_loss);
  std::printf("sine(0.5) = %.3f\n", static_cast<double>(sine(std::array{0.5f})[0]));
}
