// predict/sample_text.cpp - drawn tokens: likeliest ones, shares, the window that a model sees, what is refused.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave.hpp>
#include <cleave/predict/sample_text.hpp>

using namespace cleave;

namespace {

/// Says after each position the token one higher, more or less surely.
struct Counting {
  static constexpr long inputs = 4, width = 6, outputs = inputs * width;
  static constexpr int vocabulary = 6;
  float sure = 20;
  std::vector<std::vector<float>>* seen = nullptr;
  std::vector<float> operator()(std::span<float const> x) const {
    if (seen) seen->emplace_back(x.begin(), x.end());
    std::vector<float> y(static_cast<std::size_t>(outputs));
    for (std::size_t p = 0; p < 4; ++p) y[p * 6 + static_cast<std::size_t>(x[p] + 1) % 6] = sure;
    return y;
  }
};
/// Of the whole window.
struct AfterAll {
  static constexpr long inputs = 3, width = 6, outputs = width;
  static constexpr int vocabulary = 7;
  std::vector<std::vector<float>>* seen;
  std::vector<float> operator()(std::span<float const> x) const {
    seen->emplace_back(x.begin(), x.end());
    std::vector<float> y(6);
    y[static_cast<std::size_t>(x[2] + 1) % 6] = 20;
    return y;
  }
};

}  // namespace

TEST_CASE("a model of each position reads the output behind the last token, wherever it lies in the window") {
  std::vector<std::vector<float>> seen;
  std::vector<int> const prompt{1, 2};
  CHECK(sample_tokens(Counting{20, &seen}, prompt, 5, {.temperature = 0}) == std::vector<int>{3, 4, 5, 0, 1});
  CHECK(seen[0] == std::vector<float>{1, 2, 0, 0});
  CHECK(seen[4] == std::vector<float>{3, 4, 5, 0});
}
TEST_CASE("a model of what comes after all sees the prompt at the end of its window") {
  std::vector<std::vector<float>> seen;
  std::vector<int> const prompt{4};
  CHECK(sample_tokens(AfterAll{&seen}, prompt, 3, {.temperature = 0}) == std::vector<int>{5, 0, 1});
  CHECK(seen[0] == std::vector<float>{0, 0, 4});
  CHECK(seen[2] == std::vector<float>{4, 5, 0});
}
TEST_CASE("tokens are drawn with their probabilities, from one seed the same") {
  std::vector<float> const outputs{std::log(0.5f), std::log(0.2f), std::log(0.3f)};
  int counts[3]{};
  for (int i = 0; i < 3000; ++i) ++counts[session::drawn(outputs, {}, static_cast<float>(i) / 3000)];
  CHECK(counts[0] == doctest::Approx(1500).epsilon(0.01));
  CHECK(counts[1] == doctest::Approx(600).epsilon(0.01));
  for (int i = 0; i < 100; ++i) CHECK(session::drawn(outputs, {.top_k = 2}, static_cast<float>(i) / 100) != 1);
  CHECK(session::drawn(outputs, {.top_k = 1}, 0.999f) == 0);
  CHECK(session::drawn(outputs, {.temperature = 0.01f}, 0.999f) == 0);
  CHECK(session::drawn(outputs, {}, 0.99999994f) == 2);  // never beyond the last
  std::vector<int> const prompt{0};
  auto const text = [&](std::uint64_t seed) { return sample_tokens(Counting{0.5f}, prompt, 40, {.seed = seed}); };
  CHECK(text(3) == text(3));
  CHECK(text(3) != text(4));
}
TEST_CASE("what cannot be drawn is refused") {
  std::vector<int> const none, strange{6}, one{1};
  CHECK_THROWS_WITH_AS(sample_tokens(Counting{}, none, 1), doctest::Contains("prompt is empty"), Error);
  CHECK_THROWS_WITH_AS(sample_tokens(Counting{}, strange, 1),
                       doctest::Contains("the prompt has token 6, but the model has tokens 0 to 5"), Error);
  CHECK_THROWS_WITH_AS(sample_tokens(Counting{}, one, 1, {.temperature = -1}), doctest::Contains("at least 0"), Error);
  CHECK_THROWS_WITH_AS(sample_tokens(Counting{}, one, -1), doctest::Contains("-1 tokens"), Error);
  CHECK_THROWS_WITH_AS(sample_tokens(Counting{std::numeric_limits<float>::quiet_NaN()}, one, 1),
                       doctest::Contains("is no number"), Error);
  CHECK_THROWS_WITH_AS(sample_text(Counting{}, "x", 1), doctest::Contains("token 120"), Error);
}
TEST_CASE("a model may read tokens that it does not draw, such as that of a start") {
  std::vector<std::vector<float>> seen;
  std::vector<int> const start{6};
  CHECK(sample_tokens(AfterAll{&seen}, start, 1, {.temperature = 0}) == std::vector<int>{1});
}
TEST_CASE("a trained model goes on with a text") {
  struct Net : Sequential<Vector<4>, Embedding<6, 8>, Gru<16>, PerPosition<Linear<6>, CrossEntropy>> {};
  struct Train : Plan<Net, Batch<6>, Adam> {};
  std::vector<float> x;
  std::vector<int> y;
  for (int i = 0; i < 6; ++i)
    for (int k = 0; k < 4; ++k) x.push_back(static_cast<float>((i + k) % 6)), y.push_back((i + k + 1) % 6);
  Trainer<Train> trainer;
  FitOptions how{.epochs = 300};
  how.rate = Rate::constant(0.02f);
  trainer.fit(x, y, how);
  std::vector<int> const prompt{2, 3};
  CHECK(sample_tokens(trainer.predictor(), prompt, 6, {.temperature = 0}) == std::vector<int>{4, 5, 0, 1, 2, 3});
}
