// data/span_set.cpp - arrays of bytes, tokens and doubles, and functions, as data sets: read, refused, trained on.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>

#include <cleave.hpp>
#include <cleave/data/span_set.hpp>
#include <cstdint>
#include <vector>

using namespace cleave;

namespace {

using Pictures = SpanSet<Image<1, 2, 2>, Class<3>, std::uint8_t, std::uint8_t>;
using Tokens = SpanSet<Vector<3>, Class<300, 3>, std::int32_t, std::int64_t>;
using Numbers = SpanSet<Vector<2>, Values<1>, double, double>;
static_assert(ClassDataset<Pictures> && ClassDataset<Tokens> && Dataset<Numbers> && !ClassDataset<Numbers>);
static_assert(SampleNumber<signed char> && !SampleNumber<bool>);

}  // namespace

TEST_CASE("bytes are scaled, tokens are not") {
  std::vector<std::uint8_t> const pixels{0, 1, 2, 3, 4, 5, 6, 255}, labels{2, 1};
  Pictures const pictures(pixels, labels, 1 / 255.f);
  CHECK(pictures.size() == 2);
  std::vector<float> x(4);
  int label = 0;
  pictures.read(1, x, label);
  CHECK(x[3] == 1);
  CHECK(x[0] == 4 / 255.f);
  CHECK(label == 1);
  CHECK(pictures.label(0) == 2);

  std::vector<std::int32_t> const tokens{1, 2, 299};
  std::vector<std::int64_t> const next{2, 299, -1};
  std::vector<float> t(3);
  std::vector<int> y(3);
  Tokens(tokens, next).read(0, t, y);
  CHECK(t == std::vector<float>{1, 2, 299});
  CHECK(y == std::vector<int>{2, 299, -1});
}
TEST_CASE("sizes that do not fit and labels beyond an int are refused") {
  std::vector<std::int32_t> const tokens{1, 2, 3, 4};
  std::vector<std::int64_t> const far{1L << 40, 0, 0};
  CHECK_THROWS_WITH_AS(Tokens(tokens, far), "x: 4 numbers are no whole number of samples of 3", Error);
  std::span<std::int32_t const> const three(tokens.data(), 3);
  CHECK_THROWS_WITH_AS(Tokens(three, std::span(far).first(2)), "y: 2 numbers for 1 samples of 3", Error);
  std::vector<float> x(3);
  std::vector<int> y(3);
  CHECK_THROWS_WITH_AS(Tokens(three, far).read(0, x, y), "y, sample 0: a label is no int", Error);
  CHECK_THROWS_WITH_AS((function_set<Vector<1>, Values<1>>(-1, [](long, auto, auto) {})), "n: -1 samples", Error);
}
TEST_CASE("training on doubles and on a function is that on floats, bit for bit") {
  struct Net : Sequential<Vector<2>, Linear<4>, Tanh, Linear<1>, MeanSquaredError> {};
  struct Train : Plan<Net, Batch<8>, Adam> {};
  std::vector<double> x, y;
  for (int i = 0; i < 64; ++i) {
    x.insert(x.end(), {i % 8 / 8.0, i / 8 / 8.0});
    y.push_back(x[x.size() - 1] * x[x.size() - 2]);
  }
  std::vector<float> const xf(x.begin(), x.end()), yf(y.begin(), y.end());
  auto const read = [&](long i, std::span<float> of, std::span<float> target) {
    auto const at = static_cast<std::size_t>(i);
    of[0] = xf[2 * at], of[1] = xf[2 * at + 1], target[0] = yf[at];
  };
  Trainer<Train> a, b, c;
  double const loss = a.fit(xf, yf, {.epochs = 3}).epochs.back().loss;
  CHECK(b.fit(Numbers(x, y), {.epochs = 3}).epochs.back().loss == loss);
  CHECK(c.fit(function_set<Vector<2>, Values<1>>(64, read), {.epochs = 3}).epochs.back().loss == loss);
}
