// data/padded_set.cpp - samples of different length, filled up to the positions of a model.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cleave/data/padded_set.hpp>

#include <doctest/doctest.h>
#include <cleave.hpp>

using namespace cleave;

static_assert(ClassDataset<PaddedSet<Vector<4>, Class<2>>> &&
              ClassDataset<PaddedSet<Sequence<3, 2>, Class<4, 3>, float>>);

TEST_CASE("PaddedSet: samples of different length, with a class each or one for each position") {
  std::vector<std::vector<int>> texts{{3, 4, 5}, {6}, {7, 8, 9, 10}};
  PaddedSet<Vector<4>, Class<2>> const set(texts, {0, 1, 1});
  std::vector<float> x(4);
  int y = -1;
  set.read(1, x, y);
  CHECK(x == std::vector<float>{6, 0, 0, 0});
  CHECK(y == 1);
  CHECK(padded<Vector<4>>(texts) == std::vector<float>{3, 4, 5, 0, 6, 0, 0, 0, 7, 8, 9, 10});
  PaddedSet<Sequence<3, 2>, Class<4, 3>, float> const steps({{1, 2, 3, 4}, {5, 6}}, {{0, 3}, {1}}, -1);
  std::vector<float> of(6);
  std::vector<int> classes(3);
  steps.read(0, of, classes);
  CHECK(of == std::vector<float>{1, 2, 3, 4, -1, -1});
  CHECK(classes == std::vector<int>{0, 3, -1});
  using Set = PaddedSet<Vector<4>, Class<2>>;
  CHECK_THROWS_WITH_AS(Set(texts, {0, 1}), "PaddedSet: 3 samples, but 2 labels", Error);
  CHECK_THROWS_WITH_AS(Set({{1}, {}}, {0, 1}), "PaddedSet: sample 1 is empty", Error);
  CHECK_THROWS_WITH_AS(Set({{1, 2, 3, 4, 5}}, {0}), doctest::Contains("sample 0: 5 positions, but the model has 4"),
                       Error);
  using Steps = PaddedSet<Sequence<3, 2>, Class<4, 3>, float>;
  CHECK_THROWS_WITH_AS(Steps({{1, 2, 3}}, {{0}}), doctest::Contains("no whole number of positions of 2"), Error);
  CHECK_THROWS_WITH_AS(Steps({{1, 2}}, {{0, 1}}), doctest::Contains("2 labels for 1 positions"), Error);
}
TEST_CASE("a set that fills up with another token than the model's is refused, in training and evaluation") {
  struct Net : Sequential<Vector<4>, Embedding<20, 4, PadToken<1>>, MeanOverValidPositions, Linear<2>, CrossEntropy> {};
  struct Learn : Plan<Net, Batch<2>, Adam> {};
  PaddedSet<Vector<4>, Class<2>> const zeros({{3, 4}, {5}}, {0, 1}), ones({{3, 4}, {5}}, {0, 1}, 1);
  Trainer<Learn> trainer(1, 3);
  CHECK_NOTHROW(trainer.fit(ones, {.epochs = 1}));
  CHECK_THROWS_WITH_AS(trainer.fit(zeros, {.epochs = 1}), doctest::Contains("to the model 1 is padding"), Error);
  CHECK_THROWS_WITH_AS(trainer.evaluate(zeros, Accuracy{}), doctest::Contains("to the model 1 is padding"), Error);
}
TEST_CASE("classes of texts of different length are learnt from lists") {
  std::vector<std::vector<int>> texts;
  std::vector<int> y;
  for (int s = 0; s < 600; ++s) {
    auto& text = texts.emplace_back();
    bool has = false;
    for (int p = 0; p < 2 + s % 7; ++p) has = (text.emplace_back(1 + (s * 31 + p * 17 + s * p * 7) % 19) == 5) || has;
    y.push_back(has);
  }
  struct Net : Sequential<Vector<8>, Embedding<20, 16, PadToken<0>>, Attention<2, Padded>, MeanOverValidPositions,
                          Linear<2>, CrossEntropy> {};
  struct Learn : Plan<Net, Batch<20>, DataParallel<Sync>, Adam> {};
  PaddedSet<Vector<8>, Class<2>> const all(texts, y);
  Trainer<Learn> trainer({.replicas = 2});
  CHECK(trainer.fit(all, {.epochs = 25, .validation = 0.2}).best().val_accuracy > 0.97);
  CHECK(trainer.predictor().classes(padded<Vector<8>>(std::vector<std::vector<int>>{{5}, {6, 7}})) ==
        std::vector<int>{1, 0});
}
