// train/positions.cpp - data sets with a class for each position: trained, evaluated, predicted; what is refused.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave.hpp>

using namespace cleave;

namespace {

constexpr int positions = 4, classes = 5;
struct Net : Sequential<Vector<positions>, Embedding<classes, 8>, Gru<16>, PerPosition<Linear<classes>, CrossEntropy>> {
};
struct Train : Plan<Net, Batch<8>, DataParallel<Sync>, Adam> {
  static constexpr Rate rate = Rate::constant(0.02f);
};

/// The class of a position is the sum of the tokens so far; the last one of every third sample is not known.
struct Sums {
  using Input = Vector<positions>;
  using Target = Class<classes, positions>;
  int wrong = -1;        // a sample with a class that there is not
  bool forgets = false;  // to fill the classes
  long size() const { return 120; }
  void read(long i, std::span<float> x, std::span<int> y) const {
    int sum = 0;
    for (std::size_t k = 0; k < x.size(); ++k) {
      int const token =
          static_cast<int>((static_cast<std::size_t>(i) * 7 + k * k + static_cast<std::size_t>(i) / 5) % 5);
      x[k] = static_cast<float>(token);
      if (!forgets) y[k] = sum = (sum + token) % classes;
    }
    if (!forgets && i % 3 == 0) y[3] = Target::ignored;
    if (i == wrong) y[2] = classes;
  }
};
static_assert(ClassDataset<Sums>);

struct Arrays {
  std::vector<float> x;
  std::vector<int> y;
  explicit Arrays(Sums const& of) : x(120 * positions), y(120 * positions) {
    for (std::size_t i = 0; i < 120; ++i)
      of.read(static_cast<long>(i), std::span(x).subspan(i * positions, positions),
              std::span(y).subspan(i * positions, positions));
  }
};

}  // namespace

TEST_CASE("a data set, arrays, and batches give the same training") {
  Sums const data;
  Arrays const arrays(data);
  Trainer<Train> one({.replicas = 2}), two({.replicas = 1}), three({.replicas = 1});
  History const a = one.fit(data, {.epochs = 60}), b = two.fit(arrays.x, arrays.y, {.epochs = 60});
  CHECK(a.epochs.back().loss == b.epochs.back().loss);
  double last = 0;
  long steps = 0;
  for (auto const& at : three.batches(data, {.epochs = 60})) last = three.step(at), ++steps;
  CHECK(steps == a.epochs.back().steps);
  CHECK(last < 0.2);
  auto const score = one.evaluate(data);
  CHECK(score.samples == 120);
  CHECK(score.accuracy > 0.95);
  long counted = 0;
  for (long n : score.confusion) counted += n;
  CHECK(counted == 120 * positions - 40);  // not those that are ignored

  auto predict = one.predictor();
  static_assert(decltype(predict)::outputs == positions * classes && decltype(predict)::width == classes);
  std::vector<int> const answers = predict.classes(arrays.x);
  long right = 0;
  for (std::size_t i = 0; i < answers.size(); ++i) right += answers[i] == arrays.y[i];
  CHECK(static_cast<double>(right) / static_cast<double>(counted) == doctest::Approx(score.accuracy));
  CHECK(predict.evaluate(data, Accuracy{}).value() == doctest::Approx(score.accuracy));
  CHECK(predict.evaluate(arrays.x, arrays.y, Accuracy{}).value() == doctest::Approx(score.accuracy));
  std::vector<float> const p = predict.probabilities(std::span(arrays.x).first(positions));
  for (std::size_t k = 0; k < positions; ++k) {
    float sum = 0;
    for (std::size_t c = 0; c < classes; ++c) sum += p[k * classes + c];
    CHECK(sum == doctest::Approx(1));
  }
}
TEST_CASE("parts of it, and its folds") {
  Sums const data;
  auto const [training, test] = split(data, 0.25);
  CHECK(training.size() + test.size() == 120);
  Trainer<Train> trainer;
  CHECK(trainer.fit(training, test, {.epochs = 2}).epochs.back().val_accuracy <= 1);
  CHECK(folds(data, 4).size() == 4);
}
TEST_CASE("a class that there is not, or one that was not read, is told with its sample and position") {
  Trainer<Train> trainer;
  CHECK_THROWS_WITH_AS(Trainer<Train>().evaluate(Sums{.wrong = 7}),
                       "sample 7: label 5 of position 2, but there are 5 classes, 0 to 4", Error);
  CHECK_THROWS_WITH_AS(Trainer<Train>().evaluate(Sums{.forgets = true}), doctest::Contains("label -2 of position 0"),
                       Error);
  Arrays arrays(Sums{});
  arrays.y[9] = -3;
  CHECK_THROWS_WITH_AS(trainer.evaluate(arrays.x, arrays.y), doctest::Contains("sample 2: label -3"), Error);
  CHECK_THROWS_WITH_AS(trainer.evaluate(arrays.x, std::span<int const>(arrays.y).first(120)),
                       "y: 120 labels for 120 samples of 4 positions", Error);
}
