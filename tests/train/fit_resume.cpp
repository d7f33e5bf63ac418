// train/fit_resume.cpp - a training by fit that is interrupted after any epoch continues as if it had not been.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>

#include <cleave.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "../io/scratch.hpp"

using namespace cleave;

namespace {

struct Net : Sequential<Vector<3>, Linear<8>, Tanh, Dropout<20>, Linear<1>, MeanSquaredError> {};
template <class... Ps> struct Train : Plan<Net, Batch<16>, Adam, Ps...> {
  static constexpr Rate rate = Rate::cosine(0.05f, 0);
};

struct Samples {
  std::vector<float> x, y;
  explicit Samples(int n) {
    tensor::Random const random{3, tensor::Purpose::Augment, 0};
    for (int i = 0; i < n; ++i) {
      float sum = 0;
      for (int k = 0; k < 3; ++k) {
        x.push_back(random.uniform(static_cast<std::uint64_t>(3 * i + k)));
        sum += x.back() * x.back();
      }
      y.push_back(sum + 0.3f * random.uniform(static_cast<std::uint64_t>(3 * n + i)));
    }
  }
};
struct Killed : std::runtime_error {
  Killed() : std::runtime_error("killed") {}
};
struct Ended {
  History history;
  std::vector<float> outputs;
};

/// Trains; is killed in the epoch behind `after`, before that is saved; then continues, in a new trainer that was made
/// with another seed.
template <class P> Ended trained(FitOptions const& how, int after, int replicas = 1) {
  Samples const all(96);
  if (after > 0) {
    Trainer<P> first({.replicas = replicas});
    try {
      first.fit(all.x, all.y, how, [&](Epoch const& e) {
        if (e.epoch > after) throw Killed();
      });
      FAIL("was not killed");
    } catch (Killed const&) {
    }
  }
  Trainer<P> trainer({.replicas = replicas, .seed = after > 0 ? 77u : 1u});
  Ended out;
  out.history = trainer.fit(all.x, all.y, how);
  out.outputs = trainer.predictor()(all.x);
  return out;
}
void same(Ended const& a, Ended const& b) {
  CHECK(a.outputs == b.outputs);
  CHECK(a.history.stopped_early == b.history.stopped_early);
  REQUIRE(a.history.epochs.size() == b.history.epochs.size());
  for (std::size_t i = 0; i < a.history.epochs.size(); ++i) {
    CHECK(a.history.epochs[i].epoch == b.history.epochs[i].epoch);
    CHECK(a.history.epochs[i].steps == b.history.epochs[i].steps);
    CHECK(a.history.epochs[i].loss == b.history.epochs[i].loss);
    bool const alike = a.history.epochs[i].val_loss == b.history.epochs[i].val_loss ||
                       (std::isnan(a.history.epochs[i].val_loss) && std::isnan(b.history.epochs[i].val_loss));
    CHECK(alike);
  }
}

}  // namespace

TEST_CASE("killed after any epoch: the same weights and losses") {
  scratch::Folder const folder;
  FitOptions how{.epochs = 4, .standardise = true};
  Ended const whole = trained<Train<>>(how, 0);
  for (int after = 1; after < 4; ++after) {
    how.checkpoint = folder / ("killed" + std::to_string(after) + ".safetensors");
    same(trained<Train<>>(how, after), whole);
  }
}
TEST_CASE("with samples held out: the same best epoch, stopped as early, on replicas") {
  scratch::Folder const folder;
  FitOptions how{.epochs = 30, .validation = 0.25, .patience = 3};
  using P = Train<DataParallel<Sync>>;
  Ended const whole = trained<P>(how, 0, 2);
  auto const epochs = static_cast<int>(whole.history.epochs.size());
  CHECK(whole.history.stopped_early);
  CHECK(epochs > 3);
  for (int after = 1; after < epochs; ++after) {
    CAPTURE(after);
    how.checkpoint = folder / ("stopped" + std::to_string(after) + ".safetensors");
    same(trained<P>(how, after, 2), whole);
  }
}
TEST_CASE("a training that has ended is not continued, unless for more epochs") {
  scratch::Folder const folder;
  FitOptions how{.epochs = 2, .checkpoint = folder / "w.safetensors"};
  Samples const all(96);
  struct Constant : Plan<Net, Batch<16>> {};
  Trainer<Constant> first, again, more, alone;
  first.fit(all.x, all.y, how);
  CHECK(again.fit(all.x, all.y, how).epochs.size() == 2);
  CHECK(again.steps() == 12);
  CHECK(again.predictor()(all.x) == first.predictor()(all.x));
  how.epochs = 3;
  CHECK(more.fit(all.x, all.y, how).epochs.size() == 3);
  alone.fit(all.x, all.y, {.epochs = 3});
  CHECK(more.predictor()(all.x) == alone.predictor()(all.x));
}
TEST_CASE("files that are not of this training are refused, and stay as they are") {
  scratch::Folder const folder;
  std::string const path = folder / "w.safetensors";
  Samples const all(96), few(64);
  using P = Train<>;
  Trainer<P> trainer;
  trainer.save(path);
  FitOptions const how{.epochs = 2, .checkpoint = path};
  auto const before = io::read_file(path);
  CHECK_THROWS_WITH_AS(trainer.fit(all.x, all.y, how), doctest::Contains("was not saved by fit"), Error);
  CHECK(io::read_file(path) == before);
  CHECK_THROWS_WITH_AS(trainer.batches(all.x, all.y, how), doctest::Contains("a checkpoint is of fit"), Error);
  io::write_file(path, io::Bytes{});
  CHECK_THROWS_AS(trainer.fit(all.x, all.y, how), Error);
  ::unlink(path.c_str());
  trainer.fit(all.x, all.y, how);
  Trainer<P> other;
  CHECK_THROWS_WITH_AS(other.fit(few.x, few.y, how), doctest::Contains("was saved by a training on other samples"),
                       Error);
  Samples changed(96);
  changed.y[17] += 1;
  CHECK_THROWS_WITH_AS(other.fit(changed.x, changed.y, how),
                       doctest::Contains("was saved by a training on other samples"), Error);
  CHECK_THROWS_WITH_AS(other.fit(all.x, all.y, {.epochs = 2, .validation = 0.25, .checkpoint = path}),
                       doctest::Contains("was saved by a training on other samples"), Error);
  struct Halved : Plan<Net, Batch<8>, Adam> {};
  Trainer<Halved> halved;
  CHECK_THROWS_WITH_AS(halved.fit(all.x, all.y, how), doctest::Contains("saved under another plan"), Error);
  CHECK_THROWS_AS(session::FitProgress::of("1 2 x", "w"), Error);
}
