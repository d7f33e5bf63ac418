// train/fit.cpp - training on a program's own arrays: epochs, validation, early stopping, the best weights, files.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave.hpp>

#include <cmath>

#include "../io/scratch.hpp"
#include "signs.hpp"

using namespace cleave;

namespace {

struct Curve : Sequential<Vector<1>, Linear<24>, Tanh, Linear<1>, MeanSquaredError> {};
struct Sine : Plan<Curve, Batch<32>, MicroBatches<8>, DataParallel<Sync>, Adam> {
  static constexpr Rate rate = Rate::constant(0.01f);
};
struct Net : Sequential<Vector<6>, Linear<24>, Relu, Linear<4>, CrossEntropy> {};
struct Classify : Plan<Net, Batch<24>, MicroBatches<8>, DataParallel<Sync>, Momentum> {
  static constexpr Rate rate = Rate::cosine(0.1f);
};

struct Labels : Sequential<Vector<6>, Linear<2>, BinaryCrossEntropy> {};
struct Learn : Plan<Labels, Batch<24>, MicroBatches<8>, DataParallel<Sync>, Adam> {
  static constexpr Rate rate = Rate::constant(0.05f);
};

struct Words : Sequential<Vector<4>, Embedding<9, 4>, Linear<2>, CrossEntropy> {};
struct Read : Plan<Words, Batch<2>> {};

struct Points {
  std::vector<float> x, y;
};
Points sine(std::size_t n) {
  Points p;
  for (std::size_t i = 0; i < n; ++i) {
    p.x.push_back(6.28f * static_cast<float>(i) / static_cast<float>(n));
    p.y.push_back(std::sin(p.x.back()));
  }
  return p;
}
struct Slow : Plan<Net, Batch<24>, MicroBatches<8>, DataParallel<Sync>, Momentum> {
  static constexpr Rate rate = Rate::constant(0.001f);
};
struct Labelled {
  std::vector<float> x;
  std::vector<int> y;
};
Labelled corners(int n) {
  Labelled l{std::vector<float>(static_cast<std::size_t>(n) * 6), std::vector<int>(static_cast<std::size_t>(n))};
  auto const feed = signs::feed<Classify>();
  feed.pixels(nullptr, 0, 0, n, l.x.data());
  feed.labels(nullptr, 0, 0, n, l.y.data());
  return l;
}
template <class P> std::vector<double> weights(Trainer<P>& trainer) {
  std::vector<double> all;
  for (session::Kept const& k : session::kept<P>()) {
    for (auto v : session::whole(trainer, k)) all.push_back(static_cast<double>(v));
  }
  return all;
}

}  // namespace

TEST_CASE("a sequence is scaled by feature, in training as in prediction") {
  struct Net : Sequential<Sequence<3, 2>, PerPosition<Linear<4>, Tanh>, Linear<1>, MeanSquaredError> {};
  struct Train : Plan<Net, Batch<8>, Adam> {};
  std::vector<float> x, y;
  for (int i = 0; i < 32; ++i) {
    for (int p = 0; p < 3; ++p)
      x.insert(x.end(), {static_cast<float>(i % 5), p == 2 ? 0.f : static_cast<float>(100 * i)});
    y.push_back(static_cast<float>(i % 5) / 5);
  }
  Trainer<Train> trainer;
  trainer.fit(x, y, {.epochs = 2, .standardise = true});
  CHECK(trainer.preprocessing().scaling.mean.size() == 2);
  std::vector<float> const out = trainer.predictor()(x);
  double loss = 0;
  for (std::size_t i = 0; i < y.size(); ++i) loss += std::pow(static_cast<double>(out[i] - y[i]), 2) / 32;
  CHECK(trainer.evaluate(x, y).loss == doctest::Approx(loss).epsilon(1e-5));
}
TEST_CASE("a curve is learnt, validated, stopped early; the trainer ends with the weights of the best epoch") {
  Points const p = sine(640);
  static_assert(std::is_default_constructible_v<Trainer<Sine>>);  // as many replicas as there are cores
  Trainer<Sine> trainer({.replicas = 2});
  History const h = trainer.fit(p.x, p.y, {.epochs = 200, .validation = 0.1, .patience = 5});
  CHECK(h.stopped_early);
  CHECK(h.epochs.size() < 200);
  CHECK(h.epochs.back().epoch - h.best().epoch == 5);
  CHECK(h.best().val_loss < 0.05);
  CHECK(std::isnan(h.best().val_accuracy));
  for (Epoch const& e : h.epochs) CHECK(e.steps == e.epoch * (576 / 32));
  auto const parts = session::split(session::source_of(session::arrays_of(p.x, {}, p.y, 1, 1)), 0.1, 1);
  std::vector<float> x, y;
  for (int i : *parts.second.part)
    x.push_back(p.x[static_cast<std::size_t>(i)]), y.push_back(p.y[static_cast<std::size_t>(i)]);
  CHECK(trainer.evaluate(x, y).loss == doctest::Approx(h.best().val_loss).epsilon(1e-6));
}
TEST_CASE("classes: any number of replicas has the same history and weights") {
  Labelled const l = corners(480);
  std::vector<double> wanted;
  for (int replicas : {1, 2, 3}) {
    Trainer<Classify> trainer({.replicas = replicas, .seed = 5});
    History const h = trainer.fit(l.x, l.y, {.epochs = 6, .validation = 0.25});
    CHECK(h.epochs.size() == 6);
    CHECK(!h.stopped_early);
    CHECK(h.best().val_accuracy > 0.8);
    std::vector<double> now = weights(trainer);
    for (Epoch const& e : h.epochs) now.push_back(e.loss), now.push_back(e.val_loss), now.push_back(e.val_accuracy);
    if (wanted.empty()) wanted = now;
    CHECK(now == wanted);
  }
}
TEST_CASE("the caller's function sees each epoch and may end the training") {
  Labelled const l = corners(240);
  Trainer<Classify> trainer({.replicas = 1});
  int calls = 0;
  History const h = trainer.fit(l.x, l.y, {.epochs = 10}, [&](Epoch const& e) { return ++calls, e.epoch == 3; });
  CHECK(calls == 3);
  CHECK(h.epochs.size() == 3);
  CHECK(h.stopped_early);
  CHECK(std::isnan(h.best().val_loss));
}
TEST_CASE("a second fit goes on, also with other data and in the middle of an epoch of these") {
  Labelled const l = corners(240), more = corners(100);
  Trainer<Classify> trainer({.replicas = 1});
  trainer.fit(l.x, l.y, {.epochs = 3});
  History const h = trainer.fit(more.x, more.y, {.epochs = 5});
  CHECK(trainer.steps() == 3 * 10 + 5 * 4);
  CHECK(h.epochs.back().steps == trainer.steps());
}
TEST_CASE(
    "scaling is learnt from the training samples, saved with the weights, and used by predictors and evaluation") {
  Labelled l = corners(480);
  for (std::size_t i = 0; i < l.x.size(); ++i) l.x[i] = 1000 + 50 * static_cast<float>(i % 6) * l.x[i];
  scratch::Folder const folder;
  std::string const file = folder / "scaled.safetensors";
  Trainer<Classify> trainer({.replicas = 2});
  trainer.fit(l.x, l.y, {.epochs = 4, .standardise = true});
  trainer.save(file);
  double const accuracy = trainer.evaluate(l.x, l.y).accuracy;
  Predictor<Net> loaded(file), direct(trainer);
  std::vector<int> const classes = loaded.classes(l.x);
  CHECK(direct.classes(l.x) == classes);
  double right = 0;
  for (std::size_t i = 0; i < classes.size(); ++i) right += classes[i] == l.y[i];
  CHECK(right / static_cast<double>(classes.size()) == doctest::Approx(accuracy));
  Trainer<Classify> again({.replicas = 1, .seed = 9});
  again.load(file);
  CHECK(again.evaluate(l.x, l.y).accuracy == accuracy);
  CHECK(weights(again) == weights(trainer));
}
TEST_CASE("several labels a sample are learnt; targets beyond 0 and 1 are refused") {
  Labelled const l = corners(240);
  std::vector<float> y;
  for (int c : l.y) y.push_back(c % 2 == 1), y.push_back(c >= 2);
  Trainer<Learn> trainer({.replicas = 2});
  trainer.fit(l.x, y, {.epochs = 40});
  std::vector<float> const p = Predictor<Labels>(trainer).probabilities(l.x);
  double right = 0;
  for (std::size_t i = 0; i < p.size(); ++i) right += (p[i] > 0.5f) == (y[i] > 0.5f);
  CHECK(right / static_cast<double>(p.size()) > 0.95);
  y[5] = 2;
  CHECK_THROWS_WITH_AS(trainer.fit(l.x, y), doctest::Contains("y, sample 2: target 1 is 2.000000"), Error);
}
TEST_CASE("a training that ends with an error leaves the best weights; tokens are checked") {
  Labelled const l = corners(240);
  Trainer<Classify> trainer({.replicas = 2});
  double least = INFINITY;
  CHECK_THROWS_WITH_AS(trainer.fit(l.x, l.y, {.epochs = 10, .validation = 0.2},
                                   [&](Epoch const& e) -> bool {
                                     least = std::min(least, e.val_loss);
                                     if (e.epoch == 4) throw Error("enough");
                                     return false;
                                   }),
                       "enough", Error);
  auto const parts = session::split(session::source_of(session::arrays_of(l.x, l.y, {}, 6, 4)), 0.2, 1);
  std::vector<float> x;
  std::vector<int> y;
  for (int i : *parts.second.part) {
    x.insert(x.end(), l.x.begin() + 6 * i, l.x.begin() + 6 * i + 6);
    y.push_back(l.y[static_cast<std::size_t>(i)]);
  }
  CHECK(trainer.evaluate(x, y).loss == doctest::Approx(least).epsilon(1e-6));

  std::vector<float> words = {0, 1, 2, 3, 4, 5, 6, 7.5f};
  std::vector<int> const next = {0, 1};
  Trainer<Read> reader(1);
  CHECK_THROWS_WITH_AS(reader.fit(words, next), doctest::Contains("no token of Embedding<9, ...>"), Error);
  words[7] = 7;
  CHECK_THROWS_WITH_AS(reader.fit(words, next, {.standardise = true}), doctest::Contains("cannot be scaled"), Error);
  CHECK(reader.fit(words, next).epochs.size() == 1);
}
TEST_CASE("the best epoch is that of any figure, the lowest or the highest") {
  Labelled const l = corners(240);
  FitOptions how{.epochs = 6, .validation = 0.2, .monitor = {"turn", Better::Higher}};
  std::vector<std::vector<float>> outputs;
  Trainer<Slow> trainer({.replicas = 1});
  double const turns[] = {1, 4, 3, 9, 2, 8};
  std::size_t at = 0;
  Measure turn("turn", [&] { return turns[at++ % 6]; });
  auto const keep = [&](Epoch const&) { outputs.push_back(trainer.predictor()(l.x)); };
  History const h = trainer.fit(l.x, l.y, how, {turn, keep});
  CHECK(h.best().epoch == 4);
  CHECK(trainer.predictor()(l.x) == outputs[3]);

  how.monitor = {"turn", Better::Lower};
  how.patience = 3;
  how.validation = 0;  // it is of no samples held out
  Trainer<Slow> low({.replicas = 1});
  at = 0;
  History const lowest = low.fit(l.x, l.y, how, turn);
  CHECK(lowest.best().epoch == 1);
  CHECK(lowest.epochs.size() == 4);
  CHECK(lowest.stop_reason == StopReason::Patience);

  how = {.epochs = 4, .validation = 0.2, .monitor = {"val_accuracy", Better::Higher}};
  Trainer<Classify> classes({.replicas = 1});
  History const accurate = classes.fit(l.x, l.y, how);
  for (Epoch const& e : accurate.epochs) CHECK(e.val_accuracy <= accurate.best().val_accuracy);

  how.monitor = {"f1", Better::Higher};
  CHECK_THROWS_WITH_AS(classes.fit(l.x, l.y, how),
                       "fit: no epoch has the figure \"f1\" of .monitor; there are loss, val_loss, val_accuracy",
                       Error);
  Points const p = sine(64);
  how.monitor = {"val_accuracy", Better::Higher};
  CHECK_THROWS_WITH_AS(Trainer<Sine>().fit(p.x, p.y, how), doctest::Contains("no epoch has the figure"), Error);
  how.validation = 0;
  CHECK_THROWS_WITH_AS(classes.fit(l.x, l.y, how), doctest::Contains("no samples are held out"), Error);
}
TEST_CASE("what cannot be trained on is refused before anything is trained") {
  Labelled l = corners(48);
  float p_nan = NAN;
  Trainer<Classify> trainer({.replicas = 1});
  auto const before = weights(trainer);
  auto const refused = [&](std::string const& why, FitOptions const& how) {
    CHECK_THROWS_WITH_AS(trainer.fit(l.x, l.y, how), why.c_str(), Error);
  };
  refused("fit: 0 epochs; say at least 1", {.epochs = 0});
  refused("fit: patience counts epochs without a better val_loss; say which share is held out: .validation = 0.1",
          {.patience = 2});
  refused("fit: a validation share of 1.000000; say one from 0 to below 1", {.validation = 1});
  refused("fit: 11 samples to train on are fewer than one batch of 24; say a smaller Batch in the plan",
          {.validation = 0.75});
  std::swap(l.x[9], p_nan);
  CHECK_THROWS_WITH_AS(trainer.fit(l.x, l.y, {.standardise = true}),
                       "x, sample 1: number 3 is not finite; leave the sample out", Error);
  std::swap(l.x[9], p_nan);
  CHECK(trainer.preprocessing().scaling.empty());
  l.y[7] = 4;
  CHECK_THROWS_WITH_AS(trainer.fit(l.x, l.y),
                       doctest::Contains("y, sample 7: label 4, but there are 4 classes, 0 to 3"), Error);
  l.y.pop_back();
  CHECK_THROWS_WITH_AS(trainer.fit(l.x, l.y), "y: 47 labels for 48 samples", Error);
  CHECK(weights(trainer) == before);
  CHECK(trainer.steps() == 0);
  Points p = sine(64);
  p.y[3] = INFINITY;
  Trainer<Sine> curve({.replicas = 1});
  CHECK_THROWS_WITH_AS(curve.fit(p.x, p.y), doctest::Contains("y, sample 3: target 0 is not a finite number"), Error);
}
TEST_CASE("a loop of one's own has the bits of fit") {
  Labelled const l = corners(480);
  Trainer<Classify> a({.replicas = 2}), b({.replicas = 3});
  History const h = a.fit(l.x, l.y, {.epochs = 4, .standardise = true});
  std::vector<double> losses;
  double sum = 0;
  for (auto const& at : b.batches(l.x, l.y, {.epochs = 4, .standardise = true})) {
    sum += b.step(at);
    if (at.ends_epoch) losses.push_back(std::exchange(sum, 0) / 20);
  }
  REQUIRE(losses.size() == 4);
  for (std::size_t e = 0; e < 4; ++e) CHECK(losses[e] == h.epochs[e].loss);
  CHECK(weights(b) == weights(a));
  CHECK(b.steps() == 80);
  CHECK_THROWS_WITH_AS(b.batches(l.x, l.y, {.validation = 0.1}), doctest::Contains("EarlyStopping"), Error);
  CHECK_THROWS_WITH_AS(b.batches(l.x, l.y, {.epochs = 0}), doctest::Contains("say at least 1"), Error);
}
TEST_CASE("early stopping counts epochs since the smallest loss") {
  EarlyStopping stop{.patience = 2};
  std::vector<bool> stops, improves;
  for (double loss : {3.0, 2.0, 2.5, 1.0, 1.0, std::nan(""), 0.5}) {
    stops.push_back(stop(loss));
    improves.push_back(stop.improved());
  }
  CHECK(stops == std::vector<bool>{false, false, false, false, false, true, false});
  CHECK(improves == std::vector<bool>{true, true, false, true, false, false, true});
  EarlyStopping never;
  for (int i = 0; i < 100; ++i) CHECK(!never(1));
}

TEST_CASE("replicas: as many as the plan allows where none are named; a negative number is an error") {
  struct Rounds : Plan<Net, Batch<16>, MicroBatches<2>, Accumulate<2>, DataParallel<Sync>> {};
  CHECK(Trainer<Rounds>().ranks().replicas() == 1);
  CHECK_THROWS_WITH_AS(Trainer<Rounds>({.replicas = -3}), "a plan runs on replicas from 1 on, got -3", Error);
}

TEST_CASE("a rate of the options takes the place of the plan's") {
  Labelled const all = corners(96);
  Trainer<Classify> of_plan({.replicas = 1});
  Trainer<Slow> of_options({.replicas = 1});
  History const a = of_plan.fit(all.x, all.y, {.epochs = 3});
  History const b = of_options.fit(all.x, all.y, {.epochs = 3, .rate = Classify::rate});
  for (std::size_t e = 0; e < 3; ++e) CHECK(a.epochs[e].loss == b.epochs[e].loss);
}
