// data/weighted_set.cpp - weights of samples go with them through parts and changes of a data set; weights by class.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave/data/augment.hpp>
#include <cleave/data/check_data.hpp>
#include <cleave/data/span_set.hpp>
#include <cleave/data/subset.hpp>
#include <cleave/data/weighted_set.hpp>
#include <cleave/layer/input.hpp>

#include <limits>

using namespace cleave;

namespace {

std::vector<float> const x{0, 1, 2, 3, 4, 5};
std::vector<int> const y{0, 1, 0, 0, 2, 0};
using Numbers = SpanSet<Vector<1>, Class<3>>;
struct Halved {
  static constexpr int dims = 0;
  static void apply(Draw const&, std::span<float> v, Shape) { v[0] /= 2; }
};
template <class D>
concept Weighs = requires(D const& d) {
  d.weight(0L);
};
using Weighted = WeightedSet<Numbers>;
static_assert(Dataset<Weighted> && Weighs<Weighted> && Weighted::in_memory && !Weighs<Numbers>);
static_assert(Weighs<Subset<Weighted>> && !Weighs<Subset<Numbers>>);
static_assert(Weighs<Augmented<Weighted, Halved>> && !Weighs<Augmented<Numbers, Halved>>);
/// What says 0, and then a weight that is none.
struct Wrong : Numbers {
  using Numbers::Numbers;
  float weight(long i) const { return i == 2 ? std::numeric_limits<float>::quiet_NaN() : 0; }
};

}  // namespace

TEST_CASE("samples are those of the set, with their weights, in any part of it") {
  Numbers const numbers(x, y);
  Weighted const all = with_weights(numbers, {1, 0, 2, 3, 4, 0.5f});
  float v = 0;
  int label = -1;
  all.read(4, std::span(&v, 1), label);
  CHECK(v == 4);
  CHECK(label == 2);
  CHECK(all.label(4) == 2);
  CHECK(all.weight(3) == 3);
  Subset<Weighted> const part(all, {5, 2});
  CHECK(part.weight(0) == 0.5f);
  CHECK(part.weight(1) == 2);
  CHECK(augmented<Halved>(all).weight(2) == 2);
  session::SampleSource const source = session::source_of(part);
  CHECK(source.has_weights());
  CHECK(source.weight(1) == 2);
  CHECK(source.only({1, 0}).weight(0) == 2);
  CHECK_FALSE(session::source_of(numbers).has_weights());
  CHECK(session::source_of(numbers).weight(0) == 1);
}
TEST_CASE("other weights are other samples, and those of another number or below 0 are refused") {
  Numbers const numbers(x, y);
  auto const sum = [&](std::vector<float> weights) {
    Weighted const set = with_weights(numbers, std::move(weights));
    return session::checksum_of(session::source_of(set));
  };
  CHECK(sum({1, 1, 1, 1, 1, 1}) != sum({1, 1, 1, 1, 1, 2}));
  CHECK(sum({1, 2, 3, 4, 5, 6}) == sum({1, 2, 3, 4, 5, 6}));
  CHECK_THROWS_WITH_AS(with_weights(numbers, {1, 2}), "with_weights: 2 weights for 6 samples", Error);
  CHECK_THROWS_WITH_AS(with_weights(numbers, {1, 1, 1, -2, 1, 1}),
                       "with_weights: the weight of sample 3 is -2, not a finite number of 0 or more", Error);
  Wrong const wrong(x, y);
  CHECK(check_dataset(wrong).text.find("sample 2: weight() says nan, not a number of 0 or more") != std::string::npos);
  Weighted const good = with_weights(numbers, {1, 0, 2, 3, 4, 0.5f});
  CHECK_MESSAGE(check_dataset(good).ok, check_dataset(good).text);
}
TEST_CASE("weights by class: those that are given, or so that every class has as much") {
  CHECK(class_weights(y, {1, 2, 0.5f}) == std::vector<float>{1, 2, 1, 1, 0.5f, 1});
  CHECK(balanced_weights(y) == std::vector<float>{0.5f, 2, 0.5f, 0.5f, 2, 0.5f});
  CHECK(balanced_weights(std::vector{5, 5}) == std::vector<float>{1, 1});
  Numbers const numbers(x, y);
  CHECK(labels_of(numbers) == y);
  CHECK_THROWS_WITH_AS(class_weights(y, {1, 2}),
                       "class_weights: sample 4 is of class 2, but there are weights of 2 classes, 0 to 1", Error);
  CHECK_THROWS_WITH_AS(balanced_weights(std::vector{0, -1}), "balanced_weights: sample 1 is of class -1", Error);
}
