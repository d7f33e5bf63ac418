// train/device_fit.cpp - fit on the ranks of a device: as on threads, with files and predictions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave.hpp>
#include <cleave/train/emulated.hpp>

#include <filesystem>

#include "points.hpp"

using namespace cleave;

namespace {

struct Net : Sequential<Vector<3>, Linear<8>, Tanh, Linear<2>, CrossEntropy> {};
struct Train : Plan<Net, Batch<24>, MicroBatches<6>, DataParallel<Sync>, Momentum> {
  static constexpr Rate rate = Rate::constant(0.1f);
};
using OnDevice = DeviceTrainer<Train, backend::emulate::Machine>;
/// The same source for every trainer.
template <class Trained> double loss_after(FitOptions const& how) {
  Points const points;
  Trained trainer({.replicas = 2, .seed = 3});
  trainer.fit(points, how, Measure("F1", trainer, MacroF1{}));
  return trainer.evaluate(points).loss;
}

}  // namespace

TEST_CASE("a device fits as threads do, keeps the best weights, and is saved, loaded and asked") {
  Points const points;
  OnDevice device(2, 3);
  Trainer<Train> threads({.replicas = 2, .seed = 3});
  FitOptions const how{.epochs = 5, .validation = 0.2, .standardise = true};
  History const a = device.fit(points, how), b = threads.fit(points, how);
  for (std::size_t e = 0; e < 5; ++e) {
    CHECK(a.epochs[e].loss == doctest::Approx(b.epochs[e].loss).epsilon(1e-4));
    CHECK(a.epochs[e].val_loss == doctest::Approx(b.epochs[e].val_loss).epsilon(1e-4));
  }
  double const loss = device.evaluate(points).loss;
  CHECK(loss == doctest::Approx(threads.evaluate(points).loss).epsilon(1e-4));
  device.save("device_fit.safetensors");
  Trainer<Train> loaded;
  loaded.load("device_fit.safetensors");
  CHECK(loaded.evaluate(points).loss == doctest::Approx(loss).epsilon(1e-5));
  CHECK(loaded.steps() == device.steps());
  OnDevice again(1);
  again.load("device_fit.safetensors");
  CHECK(again.evaluate(points).loss == doctest::Approx(loss).epsilon(1e-6));
  std::filesystem::remove("device_fit.safetensors");

  std::vector<float> x(3);
  int y = 0;
  points.read(5, x, y);
  CHECK(device.predictor().classes(x)[0] == loaded.predictor().classes(x)[0]);
  for (auto const& at : device.batches(points, {.epochs = 1})) CHECK(std::isfinite(device.step(at)));
}
TEST_CASE("one source trains on threads and on a device") {
  FitOptions const how{.epochs = 3, .validation = 0.2};
  CHECK(loss_after<OnDevice>(how) == doctest::Approx(loss_after<Trainer<Train>>(how)).epsilon(1e-4));
  CHECK(OnDevice().ranks().world() == 1);
  CHECK(OnDevice().leads());
}
