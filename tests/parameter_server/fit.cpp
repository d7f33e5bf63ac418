// parameter_server/fit.cpp - Trainer<P> of a plan with a server: fit, evaluate, files, predictions, as of any plan.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave.hpp>

#include <filesystem>

#include "../train/points.hpp"

using namespace cleave;

namespace {

struct Net : Sequential<Vector<3>, Linear<8>, Tanh, Linear<2>, CrossEntropy> {};
template <class... Ps> struct Of : Plan<Net, Batch<24>, MicroBatches<6>, Momentum, Ps...> {
  static constexpr Rate rate = Rate::constant(0.1f);
};
struct InStep : Of<DataParallel<Sync>, Shards<1>> {};
struct ByCollectives : Of<DataParallel<Sync>> {};
struct Free : Of<DataParallel<Async>> {};
struct Local : Of<DataParallel<LocalSGD<4>>> {};

}  // namespace

TEST_CASE("replicas that wait for each other around a server fit as those that sum by collectives") {
  Points const points;
  Trainer<InStep> served({.replicas = 2, .seed = 3});
  Trainer<ByCollectives> summed({.replicas = 2, .seed = 3});
  FitOptions const how{.epochs = 5, .validation = 0.2, .standardise = true};
  History const a = served.fit(points, how), b = summed.fit(points, how);
  for (std::size_t e = 0; e < 5; ++e) {
    CHECK(a.epochs[e].loss == doctest::Approx(b.epochs[e].loss));
    CHECK(a.epochs[e].val_loss == doctest::Approx(b.epochs[e].val_loss));
  }
  CHECK(served.preprocessing().scaling.mean == summed.preprocessing().scaling.mean);
}
TEST_CASE_TEMPLATE("replicas on their own learn, keep the best weights, and are saved and loaded", P, Free, Local) {
  Points const points;
  auto const [training, test] = split(points, 0.2);
  Trainer<P> trainer({.replicas = 3});
  History const h = trainer.fit(training, test, {.epochs = 40, .patience = 20, .readers = 2});
  CHECK(h.best().val_accuracy > 0.8);
  CHECK(trainer.evaluate(test).loss == doctest::Approx(h.best().val_loss).epsilon(1e-6));
  CHECK(trainer.predictor().evaluate(test, Accuracy{}).value() == doctest::Approx(h.best().val_accuracy));

  std::string const path = "served_fit." + std::to_string(std::is_same_v<P, Free>) + ".safetensors";
  trainer.save(path);
  Trainer<P> loaded;
  loaded.load(path);
  CHECK(loaded.evaluate(test).loss == trainer.evaluate(test).loss);
  CHECK(loaded.steps() == trainer.steps());
  std::filesystem::remove(path);
}
TEST_CASE("a loop of one's own steps a server's replicas") {
  Points const points;
  Trainer<Free> trainer({.replicas = 2});
  double loss = 0;
  for (auto const& at : trainer.batches(points, {.epochs = 20})) loss = trainer.step(at);
  CHECK(loss < 0.4);
  CHECK(trainer.steps() == 200);
}
TEST_CASE("a sample that cannot be read ends the training of a server's replicas with its error") {
  Points const points{.broken = 77};
  Trainer<Free> trainer({.replicas = 3});
  CHECK_THROWS_WITH_AS(trainer.fit(points, {.epochs = 3}), doctest::Contains("sample 77 is torn"), Error);
}
