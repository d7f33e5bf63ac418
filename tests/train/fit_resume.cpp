// train/fit_resume.cpp - a training by fit that is interrupted at any step continues as if it had not been.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>

#include <cleave.hpp>
#include <csignal>
#include <stdexcept>
#include <string>
#include <thread>
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
TEST_CASE("killed within an epoch: it continues from the last save, not from the epoch's begin") {
  scratch::Folder const folder;
  Samples const all(96);
  FitOptions how{.epochs = 3, .validation = 0.2, .save_every = std::chrono::milliseconds(1)};
  Ended const whole = trained<Train<>>(how, 0);
  how.checkpoint = folder / "w.safetensors";
  for (int const dies : {2, 7, 9, 11}) {  // epochs of 4 steps
    CAPTURE(dies);
    ::unlink(how.checkpoint.c_str());
    ::unlink((folder / "w-best.safetensors").c_str());
    Trainer<Train<>> first, second({.seed = 5});
    auto const until = [&](TrainedStep const& s) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));  // each step is saved
      if (s.step == dies) throw Killed();
    };
    CHECK_THROWS_AS(first.fit(all.x, all.y, how, until), Killed);
    long began = -1;
    Ended ended;
    struct Begins {
      long& first;
      void begin(FitStart const& start) { first = start.first; }
    };
    ended.history = second.fit(all.x, all.y, how, Begins{began});
    CHECK(began == dies - 1);
    ended.outputs = second.predictor()(all.x);
    same(ended, whole);
  }
}
TEST_CASE("a signal ends a training after a step, which is saved; and is given back") {
  scratch::Folder const folder;
  Samples const all(96);
  FitOptions how{.epochs = 3, .validation = 0.2};
  Ended const whole = trained<Train<>>(how, 0);
  how.checkpoint = folder / "w.safetensors";
  how.stop_on_signals = true;
  for (int const at : {1, 6, 8, 11}) {  // 4 and 8: the last step of an epoch
    CAPTURE(at);
    ::unlink(how.checkpoint.c_str());
    Trainer<Train<>> first, second;
    auto const raises = [&](TrainedStep const& s) {
      if (s.step == at) std::raise(SIGTERM);
    };
    History const history = first.fit(all.x, all.y, how, raises);
    CHECK(first.steps() >= at);
    CHECK(history.stop_reason == StopReason::Signal);
    CHECK(history.stopped_early);
    CHECK(history.epochs.size() == static_cast<std::size_t>((at - 1) / 4));
    CHECK(!session::StopSignals::any());
    Ended ended;
    ended.history = second.fit(all.x, all.y, how);
    CHECK(ended.history.stop_reason == StopReason::AllEpochs);
    ended.outputs = second.predictor()(all.x);
    same(ended, whole);
  }
}
TEST_CASE("a training that a callback ends within an epoch continues from that step") {
  scratch::Folder const folder;
  Samples const all(96);
  FitOptions how{.epochs = 3, .checkpoint = folder / "w.safetensors"};
  Trainer<Train<>> first, second, alone;
  History const history = first.fit(all.x, all.y, how, [](TrainedStep const& s) { return s.step == 8; });
  CHECK(history.stop_reason == StopReason::Callback);
  CHECK(history.epochs.size() == 2);
  History const rest = second.fit(all.x, all.y, how);
  how.checkpoint.clear();
  History const whole = alone.fit(all.x, all.y, how);
  same({rest, second.predictor()(all.x)}, {whole, alone.predictor()(all.x)});
}
TEST_CASE("a loop of one's own goes on within an epoch") {
  scratch::Folder const folder;
  std::string const path = folder / "w.safetensors";
  Samples const all(96);
  FitOptions how{.epochs = 3};
  Trainer<Train<>> whole, first, second;
  std::vector<double> losses;
  for (auto const& at : whole.batches(all.x, all.y, how)) losses.push_back(whole.step(at));
  std::size_t made = 0;
  for (auto const& at : first.batches(all.x, all.y, how)) {
    CHECK(first.step(at) == losses[made++]);
    if (made == 8) break;
  }
  first.save(path);
  second.load(path);
  how.resume = true;
  int epoch = 0;
  for (auto const& at : second.batches(all.x, all.y, how)) {
    CHECK(second.step(at) == losses[made++]);
    epoch = at.epoch;
    CHECK(at.ends_epoch == (made % 6 == 0));
  }
  CHECK(made == 18);
  CHECK(epoch == 3);
  CHECK(second.predictor()(all.x) == whole.predictor()(all.x));
  for (auto const& at : second.batches(all.x, all.y, how)) second.step(at);
  CHECK(second.steps() == 18);  // none is left
  CHECK_THROWS_WITH_AS(second.fit(all.x, all.y, how), doctest::Contains(".resume is of batches"), Error);
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
  CHECK_THROWS_WITH_AS(other.fit(all.x, all.y, {.epochs = 2, .checkpoint = path, .monitor = {"loss", Better::Lower}}),
                       doctest::Contains("was saved by a training whose .monitor was val_loss, not loss"), Error);
  CHECK_THROWS_WITH_AS(other.fit(all.x, all.y, {.epochs = 2, .validation = 0.25, .checkpoint = path}),
                       doctest::Contains("was saved by a training on other samples"), Error);
  struct Halved : Plan<Net, Batch<8>, Adam> {};
  Trainer<Halved> halved;
  CHECK_THROWS_WITH_AS(halved.fit(all.x, all.y, how), doctest::Contains("saved under another plan"), Error);
  CHECK_THROWS_AS(session::FitProgress::of("1 2 x", "w"), Error);
}
TEST_CASE("how far a training is comes back from its text") {
  session::FitProgress at;
  at.first = 7;
  at.samples = 9;
  at.history.monitor = {"f1 of all", Better::Higher};
  at.history.epochs.push_back({.epoch = 1, .steps = 12, .loss = 0.5, .val_loss = 0.25, .seconds = 3});
  at.history.epochs[0].measured.push_back({"f1 of all", 0.75});
  at.stop.least = -0.75;
  at.within = true;
  at.sum = 1.5;
  at.seconds_within = 4;
  for (bool const within : {true, false}) {
    at.within = within;
    session::FitProgress const back = session::FitProgress::of(at.text(), "w");
    CHECK(back.text() == at.text());
    CHECK(back.history.monitor == at.history.monitor);
    CHECK(back.seconds() == (within ? 4 : 3));
  }
  std::string const text = at.text();
  CHECK_THROWS_AS(session::FitProgress::of(text.substr(0, text.size() - 4), "w"), Error);
  CHECK_THROWS_AS(session::FitProgress::of(text + "x", "w"), Error);
}
