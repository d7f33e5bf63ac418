// backend/host/execution/feed.cpp - labels and targets are checked where they enter, and nothing is read beside the outputs.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave/backend/host/execution/feed.hpp>

using namespace cleave;
using backend::host::Feed;
using backend::host::take_answers;
using op::Target;

namespace {

struct Given {
  std::vector<int> labels;
  std::vector<float> targets;  // (count, 3)

  Feed feed() const {
    Feed f{this, nullptr, nullptr};
    if (!labels.empty()) {
      f.labels = [](void const* self, long, long first, int count, int* out) {
        std::copy_n(static_cast<Given const*>(self)->labels.begin() + first, count, out);
      };
    }
    if (!targets.empty()) {
      f.targets = [](void const* self, long, long first, int count, float* out) {
        std::copy_n(static_cast<Given const*>(self)->targets.begin() + 3 * first, 3 * count, out);
      };
    }
    return f;
  }
};

struct Taken {
  std::vector<int> labels;
  std::vector<float> targets;
};
Taken take(Given const& given, Target target, long first, int count, long valid = 1000) {
  Taken t{std::vector<int>(static_cast<std::size_t>(count), 77), std::vector<float>(3 * std::size_t(count), 77)};
  take_answers(given.feed(), {"a_loss", 3, target}, {5, first, count, valid}, {t.labels.data(), t.targets.data()});
  return t;
}
std::string refused(Given const& given, Target target, long first, int count, long valid = 1000) {
  try {
    take(given, target, first, count, valid);
  } catch (Error const& e) {
    return e.what();
  }
  return "accepted";
}
float const not_a_number = std::numeric_limits<float>::quiet_NaN(), infinite = std::numeric_limits<float>::infinity();

}  // namespace

TEST_CASE("a label that is no class is an error that names step, sample, label and classes") {
  for (Target t : {Target::Class, Target::Either}) {
    CHECK(refused({{0, 1, 2, 3}, {}}, t, 1, 3) ==
          "step 5, sample 3: label 3, but a_loss has 3 classes, 0 to 2; correct the label, or give the model's last "
          "layer an output for every class");
    CHECK(refused({{0, -5, 2, 3}, {}}, t, 0, 3).find("sample 1: label -5, but a_loss has 3 classes") !=
          std::string::npos);
    CHECK(refused({{0, 1'000'000}, {}}, t, 0, 2).find("sample 1: label 1000000") != std::string::npos);
    CHECK(refused({{2, 1, 0, 0}, {}}, t, 0, 4) == "accepted");
  }
}

TEST_CASE("what is not of the data is not looked at, and is class 0") {
  CHECK(refused({{0, 1, 99, -1}, {}}, Target::Class, 0, 4, 3).find("sample 2: label 99") != std::string::npos);
  CHECK(take({{0, 1, 99, -1}, {}}, Target::Class, 0, 4, 2).labels == std::vector<int>{0, 1, 0, 0});
  CHECK(take({{9, 9}, {}}, Target::Class, 0, 2, -3).labels == std::vector<int>{0, 0});
  CHECK(take({{}, {1, 2, 3, not_a_number, not_a_number, not_a_number}}, Target::Numbers, 0, 2, 1).targets ==
        std::vector<float>{1, 2, 3, 0, 0, 0});
}

TEST_CASE("weights of samples are the feed's, 1 without any, 0 beside the data, and finite from 0 on") {
  std::vector<int> const labels{0, 1, 2};
  std::vector<float> weights{0.5f, 0, 2};
  struct Given {
    std::vector<int> const& labels;
    std::vector<float> const& weights;
  } const given{labels, weights};
  Feed feed{&given, nullptr, [](void const* self, long, long first, int count, int* out) {
              std::copy_n(static_cast<Given const*>(self)->labels.begin() + first, count, out);
            }};
  auto const taken = [&](bool weighs, long valid = 3) {
    std::vector<int> to(3);
    std::vector<float> out(3, 77.f);
    take_answers(feed, {"a_loss", 3, Target::Class, 1, weighs}, {5, 0, 3, valid}, {to.data(), nullptr, out.data()});
    return out;
  };
  CHECK(taken(false) == std::vector<float>{77, 77, 77});
  CHECK(taken(true) == std::vector<float>{1, 1, 1});
  feed.sample_weights = [](void const* self, long, long first, int count, float* out) {
    std::copy_n(static_cast<Given const*>(self)->weights.begin() + first, count, out);
  };
  CHECK(taken(true) == weights);
  CHECK(taken(true, 1) == std::vector<float>{0.5f, 0, 0});
  CHECK_THROWS_WITH_AS(
      taken(false),
      "the feed has weights of samples, but a_loss does not read them; end the model with SampleWeighted<loss>", Error);
  for (float const wrong : {-1.f, not_a_number, infinite}) {
    weights[1] = wrong;
    CHECK_THROWS_AS(taken(true), Error);
    CHECK_NOTHROW(taken(true, 1));
  }
  std::vector<int> of_positions(6);
  std::vector<float> beside(6);
  take_answers(feed, {"a_loss", 3, Target::Class, 2, true}, {5, 0, 1}, {of_positions.data(), nullptr, beside.data()});
  CHECK(std::vector(beside.begin(), beside.begin() + 2) == std::vector<float>{0.5f, 0.5f});
  weights[1] = -1;
  CHECK_THROWS_WITH_AS(taken(true), "step 5, sample 1: its weight -1 is not a finite number of 0 or more", Error);
}

TEST_CASE("a loss that takes numbers has the feed's targets, or 1 at the label's place") {
  Given const numbers{{}, {1, 2, 3, 4, 5, 6}}, classes{{2, 0}, {}}, both{{1, 1}, {1, 2, 3, 4, 5, 6}};
  CHECK(take(numbers, Target::Numbers, 0, 2).targets == numbers.targets);
  CHECK(take(numbers, Target::Either, 1, 1).targets == std::vector<float>{4, 5, 6});
  CHECK(take(classes, Target::Either, 0, 2).targets == std::vector<float>{0, 0, 1, 1, 0, 0});
  CHECK(take(both, Target::Either, 0, 2).targets == both.targets);
  CHECK(take(both, Target::Either, 0, 2).labels == both.labels);
  CHECK(take(both, Target::Class, 0, 2).labels == both.labels);
}

TEST_CASE("targets that are not finite are an error that names the sample") {
  CHECK(refused({{}, {1, 2, 3, 4, 5, not_a_number}}, Target::Either, 0, 2) ==
        "step 5, sample 1: target 2 is not a finite number; leave the sample out");
  CHECK(refused({{}, {1, -infinite, 3}}, Target::Numbers, 0, 1).find("sample 0: target 1 is not") != std::string::npos);
}

TEST_CASE("a feed without what the loss compares with is refused") {
  CHECK(refused({{}, {1, 2, 3}}, Target::Class, 0, 1) ==
        "a_loss compares with classes, but the feed has targets and no labels; set Feed::labels, or end the model "
        "with MeanSquaredError");
  CHECK(refused({{1}, {}}, Target::Numbers, 0, 1) ==
        "a_loss compares with numbers, but the feed has no targets; set Feed::targets");
  CHECK(refused({}, Target::Either, 0, 1) ==
        "the feed has neither labels nor targets; set Feed::labels or Feed::targets");
}

TEST_CASE("a score has no accuracy where there are no labels") {
  Given const numbers{{}, {1, 2, 3}}, classes{{2}, {}};
  auto const none = backend::host::Score::of({4, 4, 0, 2.0}, numbers.feed());
  CHECK(none.loss == 0.5);
  CHECK(std::isnan(none.accuracy));
  CHECK_THROWS_WITH_AS(none.checked_accuracy(), doctest::Contains("no labels; ask score(feed, samples).loss"), Error);
  CHECK(backend::host::Score::of({4, 4, 3, 2.0}, classes.feed()).checked_accuracy() == 0.75);
  CHECK(backend::host::Score::of({}, classes.feed()).checked_accuracy() == 0);
}
