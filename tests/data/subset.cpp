// data/subset.cpp - parts of a data set have its samples, and are data sets; split leaves no sample out.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave/data/subset.hpp>
#include <cleave/layer/input.hpp>

using namespace cleave;

namespace {

struct Numbers {
  using Input = Vector<1>;
  using Target = Class<2>;
  static constexpr bool in_memory = true;
  int size() const { return 20; }
  int label(long i) const { return i >= 15; }
  std::vector<std::string> class_names() const { return {"low", "high"}; }
  void read(long i, std::span<float> x, int& y) const {
    x[0] = static_cast<float>(i);
    y = label(i);
  }
};
struct Plain {
  using Input = Vector<1>;
  using Target = Values<1>;
  int size() const { return 20; }
  void read(long i, std::span<float> x, std::span<float> y) const { y[0] = x[0] = static_cast<float>(i); }
};
static_assert(ClassDataset<Subset<Numbers>> && Subset<Numbers>::in_memory);
static_assert(Dataset<Subset<Plain>> && !Subset<Plain>::in_memory);
template <class D>
concept Splits = requires {
  split(D{}, 0.5);
};
static_assert(!Splits<Plain>);  // of a temporary there is nothing to view

}  // namespace

TEST_CASE("a part has the samples of its numbers, their labels and the names of their classes") {
  Numbers const all;
  Subset<Numbers> const part(all, {3, 17});
  float x = 0;
  int y = -1;
  part.read(1, std::span(&x, 1), y);
  CHECK(x == 17);
  CHECK(y == 1);
  CHECK(part.size() == 2);
  CHECK(part.label(0) == 0);
  CHECK(part.class_names()[1] == "high");
  CHECK_THROWS_WITH_AS(Subset<Numbers>(all, {3, 20}), "Subset: sample 20 of 20", Error);
  CHECK_THROWS_WITH_AS(Subset<Numbers>(all, {-1}), "Subset: sample -1 of 20", Error);
}
TEST_CASE("split gives every sample to one part, and each class its share") {
  Numbers const all;
  auto const [training, test] = split(all, 0.2, 3);
  CHECK(training.size() == 16);
  CHECK(test.size() == 4);
  int high = 0;
  std::vector<int> both = training.numbers();
  for (int i = 0; i < 4; ++i) high += test.label(i);
  CHECK(high == 1);
  both.insert(both.end(), test.numbers().begin(), test.numbers().end());
  std::sort(both.begin(), both.end());
  for (int i = 0; i < 20; ++i) CHECK(both[static_cast<std::size_t>(i)] == i);
  CHECK(split(all, 0.2, 3).second.numbers() == test.numbers());
  CHECK(split(all, 0.2, 4).second.numbers() != test.numbers());
}
TEST_CASE("a share that leaves a part empty, or is none, is told") {
  Plain const all;
  CHECK_THROWS_WITH_AS(split(all, 0.0), doctest::Contains("say one above 0 and below 1"), Error);
  CHECK_THROWS_WITH_AS(split(all, 1.0), doctest::Contains("say one above 0 and below 1"), Error);
  CHECK_THROWS_WITH_AS(split(all, 0.01), doctest::Contains("of 20 samples leaves a part empty"), Error);
}

TEST_CASE("folds: each sample is held out once, and every class is shared evenly") {
  Numbers const all;
  for (int k : {2, 3, 7}) {
    auto const parts = folds(all, k, 5);
    REQUIRE(parts.size() == static_cast<std::size_t>(k));
    std::vector<int> held(static_cast<std::size_t>(all.size()));
    for (auto const& [training, validation] : parts) {
      CHECK(training.size() + validation.size() == all.size());
      for (int i : validation.numbers()) ++held[static_cast<std::size_t>(i)];
      int ones = 0;
      for (long i = 0; i < validation.size(); ++i) ones += validation.label(i) == 1;
      long of_all = 0;
      for (long i = 0; i < all.size(); ++i) of_all += all.label(i) == 1;
      CHECK(std::abs(static_cast<double>(ones) - static_cast<double>(of_all) / k) <= 1);
    }
    CHECK(std::all_of(held.begin(), held.end(), [](int n) { return n == 1; }));
    CHECK(folds(all, k, 5)[0].second.numbers() == parts[0].second.numbers());
    CHECK(folds(all, k, 6)[0].second.numbers() != parts[0].second.numbers());
  }
  CHECK_THROWS_WITH_AS(folds(all, 1), doctest::Contains("folds: 1 folds of"), Error);
  CHECK_THROWS_AS(folds(all, static_cast<int>(all.size()) + 1), Error);
}
