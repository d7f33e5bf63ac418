// train/fit_data_sets.cpp - training on data sets: the bits of the same arrays, any readers and replicas; held-out sets.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave.hpp>
#include <cleave/data/augment.hpp>

#include "points.hpp"

using namespace cleave;

namespace {

struct Net : Sequential<Vector<3>, Linear<8>, Tanh, Linear<2>, CrossEntropy> {};
template <class... Ps> struct Of : Plan<Net, Batch<24>, MicroBatches<6>, Adam, Ps...> {
  static constexpr Rate rate = Rate::constant(0.01f);
};
struct Train : Of<DataParallel<Sync>> {};
struct Cols : Of<ModelParallel<SplitCols>> {};
struct Curve : Sequential<Vector<1>, Linear<8>, Tanh, Linear<1>, MeanSquaredError> {};
struct Learn : Plan<Curve, Batch<16>, DataParallel<Sync>, Adam> {
  static constexpr Rate rate = Rate::constant(0.01f);
};

struct InMemory : Points {
  static constexpr bool in_memory = true;
};
struct Swapped : Points {
  std::vector<std::string> class_names() const {
    std::vector<std::string> names = Points().class_names();
    std::swap(names[0], names[1]);
    return names;
  }
};
struct Jitter {
  static constexpr int dims = 0;
  static void apply(Draw const& draw, std::span<float> x, Shape) { x[0] += 0.1f * draw.uniform(0); }
};
struct Sine {
  using Input = Vector<1>;
  using Target = Values<1>;
  int size() const { return 200; }
  void read(long i, std::span<float> x, std::span<float> y) const {
    x[0] = static_cast<float>(i) * 0.01f;
    y[0] = std::sin(3 * x[0]);
  }
};

template <class D>
concept HasBatches = requires(Trainer<Learn>& t) {
  t.batches(D{});
};
static_assert(!HasBatches<Sine>);  // of a temporary there is nothing to view

template <class P> std::vector<double> numbers(Trainer<P>& trainer, History const& h) {
  std::vector<double> out;
  for (Epoch const& e : h.epochs) out.push_back(e.loss), out.push_back(e.val_loss), out.push_back(e.val_accuracy);
  for (double v : trainer.predictor()(std::vector<float>{0.1f, 0.2f, 0.3f, -1, 0, 1})) out.push_back(v);
  return out;
}

}  // namespace

TEST_CASE("a data set gives the bits of the same samples in arrays, with any number of readers and replicas") {
  Points const points;
  std::vector<float> x(750);
  std::vector<int> y(250);
  for (long i = 0; i < 250; ++i)
    points.read(i, std::span(x).subspan(static_cast<std::size_t>(3 * i), 3), y[static_cast<std::size_t>(i)]);
  FitOptions const how{.epochs = 5, .validation = 0.2, .standardise = true};
  Trainer<Train> arrays({.replicas = 2, .seed = 3});
  std::vector<double> const wanted = numbers(arrays, arrays.fit(x, y, how));
  for (int readers : {0, 1, 5}) {
    FitOptions with = how;
    with.readers = readers;
    for (int replicas : {1, 3}) {
      Trainer<Train> trainer({.replicas = replicas, .seed = 3});
      CHECK(numbers(trainer, trainer.fit(points, with)) == wanted);
    }
  }
  Trainer<Cols> columns({.replicas = 1, .seed = 3});  // whose ranks read the same rows
  CHECK(numbers(columns, columns.fit(points, how)).size() == wanted.size());
  Trainer<Train> copied({.replicas = 2, .seed = 3});
  CHECK(numbers(copied, copied.fit(InMemory{}, how)) == wanted);
  CHECK(copied.preprocessing().class_names == std::vector<std::string>{"below", "above"});
}
TEST_CASE("samples that are held out may be a data set of their own; evaluations and metrics take one") {
  Points const points;
  auto const [training, test] = split(points, 0.2);
  Trainer<Train> trainer({.replicas = 2});
  History const h = trainer.fit(training, test, {.epochs = 30});
  CHECK(h.best().val_accuracy > 0.9);
  CHECK(trainer.evaluate(test).loss == doctest::Approx(h.best().val_loss).epsilon(1e-6));
  auto predict = trainer.predictor({.threads = 2});
  auto const [accuracy, matrix] = predict.evaluate(test, Accuracy{}, ConfusionMatrix{});
  CHECK(accuracy.value() == doctest::Approx(trainer.evaluate(test).accuracy));
  CHECK(predict.names(std::vector<float>{1, 1, -1})[0] == "above");
  CHECK_THROWS_WITH_AS(trainer.fit(training, test, {.validation = 0.1}), doctest::Contains("leave .validation out"),
                       Error);
}
TEST_CASE("a trainer's metrics are those of its predictor, of arrays and of data sets, between epochs too") {
  Points const points;
  auto const [training, test] = split(points, 0.2);
  Trainer<Train> trainer({.replicas = 2});
  std::vector<double> seen;
  trainer.fit(training, {.epochs = 3},
              [&, &test = test](Epoch const&) { seen.push_back(trainer.evaluate(test, Accuracy{}).value()); });
  REQUIRE(seen.size() == 3);
  CHECK(seen.back() == doctest::Approx(trainer.evaluate(test).accuracy));
  auto const [accuracy, matrix] = trainer.evaluate(test, Accuracy{}, ConfusionMatrix{});
  CHECK(accuracy.value() == seen.back());
  CHECK(matrix.count(0, 0) + matrix.count(0, 1) + matrix.count(1, 0) + matrix.count(1, 1) == 50);
  Trainer<Learn> curve;
  std::vector<float> x, y;
  for (int i = 0; i < 200; ++i) x.push_back(static_cast<float>(i) * 0.01f), y.push_back(std::sin(3 * x.back()));
  curve.fit(x, y, {.epochs = 2});
  CHECK(curve.evaluate(x, y, MeanAbsoluteError{}).value() ==
        curve.predictor().evaluate(x, y, MeanAbsoluteError{}).value());
  CHECK(curve.evaluate(Sine(), MeanAbsoluteError{}).value() == curve.evaluate(x, y, MeanAbsoluteError{}).value());
}
TEST_CASE("a set to evaluate has the classes of the training set, in the same order") {
  Points const points;
  Swapped const swapped;
  Trainer<Train> trainer;
  auto const refused =
      doctest::Contains("the set to evaluate: class 0 is \"above\", but the model was trained with \"below\"");
  CHECK_THROWS_WITH_AS(trainer.fit(points, swapped, {.epochs = 1}), refused, Error);
  CHECK(trainer.steps() == 0);
  trainer.fit(points, points, {.epochs = 1});
  CHECK_THROWS_WITH_AS(trainer.evaluate(swapped), refused, Error);
  CHECK_THROWS_WITH_AS(trainer.predictor().evaluate(swapped, Accuracy{}), refused, Error);
}
TEST_CASE("augmentation changes training, is the same on any number of replicas, and is not in an evaluation") {
  Points const points;
  auto const [training, test] = split(points, 0.2);
  auto const varied = augmented<Jitter>(training);
  std::vector<double> plain, wanted;
  for (int replicas : {1, 2}) {
    Trainer<Train> trainer({.replicas = replicas}), other({.replicas = replicas});
    std::vector<double> const now = numbers(trainer, trainer.fit(varied, test, {.epochs = 3}));
    if (wanted.empty()) wanted = now;
    CHECK(now == wanted);
    CHECK(numbers(other, other.fit(training, test, {.epochs = 3})) != wanted);
    CHECK(trainer.evaluate(varied).loss == trainer.evaluate(training).loss);
  }
}
TEST_CASE("values are learnt, and a loop of one's own reads a data set") {
  Sine const sine;
  Trainer<Learn> fitted({.replicas = 2}), stepped({.replicas = 2});
  fitted.fit(sine, {.epochs = 4});
  for (auto const& at : stepped.batches(sine, {.epochs = 4})) stepped.step(at);
  CHECK(fitted.evaluate(sine).loss == stepped.evaluate(sine).loss);
  CHECK(std::isnan(fitted.evaluate(sine).accuracy));
  CHECK(fitted.predictor().evaluate(sine, MeanAbsoluteError{}).value() < 1);
}
TEST_CASE("a function that is told of epochs may return nothing, or end the training") {
  Sine const sine;
  Trainer<Learn> trainer({.replicas = 1});
  int told = 0;
  trainer.fit(sine, {.epochs = 3}, [&](Epoch const& e) { told += e.epoch; });
  CHECK(told == 6);
  History const h = trainer.fit(sine, {.epochs = 9}, [](Epoch const& e) { return e.epoch == 2; });
  CHECK(h.epochs.size() == 2);
  CHECK(h.stopped_early);
}
TEST_CASE("a sample that cannot be read ends the training with its error") {
  Points const points{.broken = 77};
  Trainer<Train> trainer({.replicas = 2});
  CHECK_THROWS_WITH_AS(trainer.fit(points, {.epochs = 2}), doctest::Contains("sample 77 is torn"), Error);
}
