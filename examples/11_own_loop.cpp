// 11_own_loop - classes of points, with a training loop of one's own: early stopping, the best file, metrics.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cleave.hpp>

#include <cmath>
#include <cstdio>
#include <span>

using namespace cleave;

struct Net : Sequential<Vector<2>, Linear<32>, Relu, Linear<32>, Relu, Linear<3>, CrossEntropy> {};
struct Train : Plan<Net, Batch<50>, MicroBatches<2>, DataParallel<Sync>, Adam> {
  static constexpr Rate rate = Rate::constant(0.01f);
};

int main() {
  std::vector<float> x;  // three arms of a spiral
  std::vector<int> y;
  for (int i = 0; i < 3000; ++i) {
    double const r = std::fmod(i * 0.618034, 1), angle = 5 * r + i % 3 * 2.0944;
    x.insert(x.end(), {static_cast<float>(r * std::sin(angle)), static_cast<float>(r * std::cos(angle))});
    y.push_back(i % 3);
  }
  std::span<float const> const points(x), test = points.subspan(2 * 2500);
  std::span<int const> const arms(y), wanted = arms.subspan(2500);

  Trainer<Train> trainer({.replicas = 2});
  EarlyStopping stop{.patience = 3};
  for (auto const& at : trainer.batches(points.first(2 * 2500), arms.first(2500), {.epochs = 100})) {
    trainer.step(at);
    if (!at.ends_epoch) continue;
    if (stop(trainer.evaluate(test, wanted).loss)) break;
    if (stop.improved()) trainer.save("spiral.safetensors");
  }

  Predictor<Net> predict("spiral.safetensors");
  auto const [accuracy, matrix] = predict.evaluate(test, wanted, Accuracy{}, ConfusionMatrix{});
  std::printf("loss %.4f, accuracy %.3f\n%s", stop.least, accuracy.value(), matrix.text().c_str());
}
