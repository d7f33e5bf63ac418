// data/metrics.cpp - metrics against counts by hand; ties, numbers that are none, merges in any grouping.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave/data/metrics.hpp>

#include <array>

using namespace cleave;

namespace {

static_assert(ClassMetric<Accuracy> && ClassMetric<TopKAccuracy<3>> && ClassMetric<ConfusionMatrix> &&
              ClassMetric<MacroF1>);
static_assert(TargetMetric<Accuracy> && TargetMetric<MacroF1> && TargetMetric<MeanAbsoluteError> &&
              TargetMetric<RootMeanSquaredError>);
static_assert(!ClassMetric<MeanAbsoluteError> && !TargetMetric<ConfusionMatrix> && !TargetMetric<TopKAccuracy<3>>);
struct WithoutMerge {
  void add(std::span<float const>, int) {}
  double value() const { return 0; }
};
struct ValueChanges : WithoutMerge {
  void merge(ValueChanges const&) {}
  double value() { return 0; }
};
struct Own : WithoutMerge {
  void merge(Own const&) {}
};
static_assert(!ClassMetric<WithoutMerge> && !ClassMetric<ValueChanges> && ClassMetric<Own>);

struct Sample {
  std::array<float, 3> outputs;
  int label;
};
float const none = std::nanf("");
std::vector<Sample> const samples{{{3, 1, 2}, 0}, {{1, 3, 2}, 0}, {{1, 2, 3}, 2}, {{1, 1, 0}, 0},
                                  {{1, 1, 0}, 1}, {{0, 5, 1}, 1}, {{2, 0, 1}, 2}};
template <class M> M of(std::vector<Sample> const& all) {
  M m;
  for (Sample const& s : all) m.add(s.outputs, s.label);
  return m;
}
}  // namespace

TEST_CASE("samples whose class has one of the k largest outputs; of equal outputs the first class counts as larger") {
  CHECK(of<Accuracy>(samples).value() == 4.0 / 7);
  CHECK(of<TopKAccuracy<1>>(samples).value() == 4.0 / 7);
  CHECK(of<TopKAccuracy<2>>(samples).value() == 6.0 / 7);
  CHECK(of<TopKAccuracy<3>>(samples).value() == 1);
  CHECK(std::isnan(Accuracy{}.value()));
  CHECK(of<Accuracy>({{{none, 1, 2}, 2}, {{1, none, 2}, 1}, {{1, 2, none}, 1}}).value() == 0);
}
TEST_CASE("samples by class and answer") {
  auto const m = of<ConfusionMatrix>(samples);
  CHECK(m.text() == "2 1 0\n1 1 0\n1 0 1\n");
  CHECK(m.value() == 4.0 / 7);
  CHECK(m.count(0, 1) == 1);
  CHECK(m.precision(0) == 2.0 / 4);
  CHECK(m.recall(0) == 2.0 / 3);
  CHECK(m.precision(2) == 1);
  CHECK(m.recall(2) == 0.5);
  CHECK(m.of(1).wrong == 1);
  CHECK(m.of(1).missed == 1);
  // 2 x 2 / (4 + 2 + 1), 2 / (2 + 1 + 1), 2 / (2 + 0 + 1)
  CHECK(of<MacroF1>(samples).value() == doctest::Approx((4.0 / 7 + 0.5 + 2.0 / 3) / 3).epsilon(1e-15));
  CHECK(m.of(0).iou() == 2.0 / 5);  // 2 / (2 + 2 + 1), 1 / (1 + 1 + 1), 1 / (1 + 0 + 1)
  CHECK(of<MeanIou>(samples).value() == doctest::Approx((0.4 + 1.0 / 3 + 0.5) / 3).epsilon(1e-15));
  CHECK_THROWS_WITH_AS(m.count(3, 0), doctest::Contains("classes 3 and 0 of 3"), Error);
}
TEST_CASE("a class that never occurs does not count in the mean of F1") {
  CHECK(of<MacroF1>({{{3, 1, 2}, 0}, {{1, 3, 2}, 1}}).value() == 1);
  CHECK(of<MeanIou>({{{3, 1, 2}, 0}, {{1, 3, 2}, 1}}).value() == 1);
  CHECK(std::isnan(MacroF1{}.value()));
}
TEST_CASE("several labels a sample: an output above 0 is a yes") {
  std::array<float, 4> const a{2, -1, 0.5f, -3}, truth{1, 0, 0, 1}, b{-1, 1, none, 0}, other{0, 1, 0, 0};
  Accuracy accuracy;
  MacroF1 f1;
  accuracy.add(a, truth), accuracy.add(b, other);
  f1.add(a, truth), f1.add(b, other);
  CHECK(accuracy.value() == 5.0 / 8);
  CHECK(f1.value() == doctest::Approx(2.0 / 4));  // 1, 1, 0 and 0
}
TEST_CASE("errors of regression, in the unit of the targets") {
  MeanAbsoluteError absolute;
  RootMeanSquaredError squared;
  std::array<float, 2> const y{1, 2}, t{2, 4};
  absolute.add(y, t), squared.add(y, t);
  CHECK(absolute.value() == 1.5);
  CHECK(squared.value() == doctest::Approx(std::sqrt(2.5)).epsilon(1e-15));
  CHECK_THROWS_WITH_AS(absolute.add(y, std::array<float, 3>{}), doctest::Contains("3 targets for 2 outputs"), Error);
}
TEST_CASE("merged in any grouping, metrics are those of all samples") {
  for (std::size_t cut = 0; cut <= samples.size(); ++cut) {
    auto const at = samples.begin() + static_cast<long>(cut);
    std::vector<Sample> const left(samples.begin(), at), right(at, samples.end());
    auto const merged = [&]<class M>(M) {
      M a = of<M>(left);
      a.merge(of<M>(right));
      return a.value();
    };
    CHECK(merged(Accuracy{}) == of<Accuracy>(samples).value());
    CHECK(merged(TopKAccuracy<2>{}) == of<TopKAccuracy<2>>(samples).value());
    CHECK(merged(ConfusionMatrix{}) == of<ConfusionMatrix>(samples).value());
    CHECK(merged(MacroF1{}) == of<MacroF1>(samples).value());
    CHECK(merged(MeanIou{}) == of<MeanIou>(samples).value());
  }
}
TEST_CASE("a label that is no class, and other numbers of outputs, are errors") {
  std::array<float, 3> const y{};
  CHECK_THROWS_WITH_AS(Accuracy{}.add(y, 3), "metric: label 3 of 3 outputs", Error);
  CHECK_THROWS_WITH_AS(ConfusionMatrix{}.add(y, -1), "metric: label -1 of 3 outputs", Error);
  auto m = of<ConfusionMatrix>(samples);
  CHECK_THROWS_WITH_AS(m.add(std::array<float, 2>{}, 0), "ConfusionMatrix: 2 outputs after some of 3", Error);
}

TEST_CASE("an output that is not a number is never an answer") {
  std::array<float, 3> const bad{std::nanf(""), 1, 0};
  TopKAccuracy<3> top;
  top.add(bad, 1);
  CHECK(top.value() == 0);
  MacroF1 f1;
  f1.add(bad, 1);
  f1.add(std::array<float, 3>{0, 1, 0}, 1);
  CHECK(f1.value() == doctest::Approx(2.0 / 3));  // one of class 1 missed, and none given a wrong class
  ConfusionMatrix matrix;
  CHECK_THROWS_WITH_AS(matrix.add(bad, 1), "ConfusionMatrix: a sample of class 1 has an output that is not a number",
                       Error);
}
