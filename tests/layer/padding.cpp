// layer/padding.cpp - sequences of different length: a sample gives what it gives to a model of its own length.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave.hpp>

#include "../io/scratch.hpp"

using namespace cleave;

namespace {

// Models of `Positions`, with and without padding. Their weights have the same shapes.
template <int Positions, class Attend, class Last, class... Words>
struct Tokens : Sequential<Vector<Positions>, Embedding<20, 8, Words...>, Residual<Attend>, Lstm<8>, Last, Linear<4>,
                           CrossEntropy> {};
template <int Positions>
struct TokensPadded : Tokens<Positions, Attention<2, Padded>,
                             Branches<Concat, Path<LastValidPosition>, Path<MeanOverValidPositions>>, PadToken<0>> {};
template <int Positions>
struct TokensWhole : Tokens<Positions, Attention<2>, Branches<Concat, Path<LastPosition>, Path<MeanOverPositions>>> {};
template <int Positions>
struct NumbersPadded
    : Sequential<Sequence<Positions, 4>, Masking, PerPosition<Linear<8>>, Attention<4, Rotary, Causal, Padded>,
                 MeanOverValidPositions, Linear<3>, CrossEntropy> {};
template <int Positions>
struct NumbersWhole : Sequential<Sequence<Positions, 4>, Masking, PerPosition<Linear<8>>, Attention<4, Rotary, Causal>,
                                 MeanOverPositions, Linear<3>, CrossEntropy> {};

template <class Net, class... Words> struct Train : Plan<Net, Batch<12>, MicroBatches<6>, Momentum, Words...> {
  static constexpr Rate rate = Rate::constant(0.1f);
};

float number(int sample, int k) {
  return tensor::Random{5, tensor::Purpose::Augment, 0}.uniform(static_cast<std::uint64_t>(sample * 1000 + k));
}
int token(int sample, int k) { return 1 + static_cast<int>(19 * number(sample, k)); }
/// n samples of `length` positions, filled up to `positions`.
std::vector<float> tokens(int n, int length, int positions) {
  std::vector<float> x;
  for (int s = 0; s < n; ++s)
    for (int p = 0; p < positions; ++p) x.push_back(p < length ? static_cast<float>(token(s, p)) : 0.0f);
  return x;
}
std::vector<float> numbers(int n, int length, int positions) {
  std::vector<float> x;
  for (int s = 0; s < n; ++s)
    for (int p = 0; p < positions * 4; ++p) x.push_back(p < length * 4 ? number(s, p) - 0.5f : 0.0f);
  return x;
}
std::vector<int> labels(int n) {
  std::vector<int> y;
  for (int s = 0; s < n; ++s) y.push_back(token(s, 0) % 3);
  return y;
}
void near(std::vector<float> const& a, std::vector<float> const& b, double tolerance = 1e-5) {
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) CHECK(a[i] == doctest::Approx(b[i]).epsilon(tolerance));
}
/// Losses, and outputs for the samples, after three epochs.
template <class P, class Trained = Trainer<P>>
std::vector<float> trained(std::vector<float> const& x, std::vector<int> const& y, int replicas = 1) {
  Trained trainer(replicas, 3);
  std::vector<float> out;
  for (Epoch const& e : trainer.fit(x, y, {.epochs = 3}).epochs) out.push_back(static_cast<float>(e.loss));
  auto const after = trainer.predictor()(x);
  out.insert(out.end(), after.begin(), after.end());
  return out;
}

}  // namespace

TEST_CASE("training on samples that are filled up is training on them, whatever the positions of the model") {
  auto const y = labels(48);
  auto const five = trained<Train<TokensWhole<5>>>(tokens(48, 5, 5), y);
  near(trained<Train<TokensPadded<5>>>(tokens(48, 5, 5), y), five);
  near(trained<Train<TokensPadded<8>>>(tokens(48, 5, 8), y), five, 1e-4);
  auto const six = trained<Train<NumbersWhole<6>>>(numbers(48, 6, 6), y);
  near(trained<Train<NumbersPadded<9>>>(numbers(48, 6, 9), y), six, 1e-4);
}
TEST_CASE("a sample of each length gives what a model of that length gives") {
  scratch::Folder const folder;
  std::string const file = folder / "w.safetensors";
  Trainer<Train<TokensPadded<7>>> trainer(1, 3);
  trainer.fit(tokens(24, 7, 7), labels(24), {.epochs = 2});
  trainer.save(file);
  Predictor<TokensPadded<7>> any(file);
  near(any(tokens(4, 3, 7)), Predictor<TokensWhole<3>>(file)(tokens(4, 3, 3)));
  near(any(tokens(4, 6, 7)), Predictor<TokensWhole<6>>(file)(tokens(4, 6, 6)));
  near(any(tokens(4, 1, 7)), Predictor<TokensWhole<1>>(file)(tokens(4, 1, 1)));
}
TEST_CASE("in front and between, padding is attended to by none; a sample of nothing else gives finite numbers") {
  Trainer<Train<NumbersPadded<6>>> trainer(1, 3);
  auto predict = trainer.predictor();
  std::vector<float> x = numbers(2, 6, 6);
  std::fill_n(x.begin() + 8, 4, 0.0f);  // position 2 of the first sample
  std::fill_n(x.begin(), 4, 0.0f);      // and position 0
  std::fill(x.begin() + 24, x.end(), 0.0f);
  std::vector<float> const out = predict(x);
  for (float const v : out) CHECK(std::isfinite(v));
  struct Alone
      : Sequential<Sequence<6, 4>, Masking, Attention<2, Padded>, MeanOverValidPositions, Linear<2>, CrossEntropy> {};
  struct Less
      : Sequential<Sequence<4, 4>, Masking, Attention<2, Padded>, MeanOverValidPositions, Linear<2>, CrossEntropy> {};
  Trainer<Train<Alone>> alone(1, 3);  // without an order of positions
  Trainer<Train<Less>> less(1, 3);
  std::vector<float> rest(x.begin() + 4, x.begin() + 8);
  rest.insert(rest.end(), x.begin() + 12, x.begin() + 24);
  near(alone.predictor()(std::vector<float>(x.begin(), x.begin() + 24)), less.predictor()(rest));
  CHECK(alone.fit(std::vector<float>(24 * 24), std::vector<int>(24), {.epochs = 1}).epochs.size() == 1);
}
TEST_CASE("long sequences, in several blocks, have the numbers of the definition") {
  struct Long
      : Sequential<Sequence<150, 4>, Masking, Attention<2, Padded>, LastValidPosition, Linear<3>, CrossEntropy> {};
  struct OnHost : Plan<Long, Batch<4>, MicroBatches<2>, Momentum> {};
  std::vector<float> x = numbers(8, 150, 150);
  for (int s = 0; s < 8; ++s) std::fill(x.begin() + s * 600 + (20 * s + 1) * 4, x.begin() + (s + 1) * 600, 0.0f);
  Trainer<OnHost> host(1, 3);
  struct ByHand : Plan<Long, Batch<4>, MicroBatches<2>, Precision<f64>, Momentum> {};
  Trainer<ByHand> exact(1, 3);
  near(host.predictor()(x), exact.predictor()(x), 1e-4);
  auto const a = host.fit(x, labels(8), {.epochs = 2}), b = exact.fit(x, labels(8), {.epochs = 2});
  CHECK(a.epochs[1].loss == doctest::Approx(b.epochs[1].loss).epsilon(1e-4));
}
TEST_CASE("any replicas and splits of the model have the same numbers") {
  std::vector<float> x;
  for (int s = 0; s < 48; ++s) {
    auto const one = tokens(s + 1, 1 + s % 8, 8);
    x.insert(x.end(), one.end() - 8, one.end());
  }
  auto const y = labels(48);
  auto const whole = trained<Train<TokensPadded<8>, DataParallel<Sync>>>(x, y);
  CHECK(trained<Train<TokensPadded<8>, DataParallel<Sync>>>(x, y, 3) == whole);
  near(trained<Train<TokensPadded<8>, ModelParallel<SplitColsRows, Ways<2>>>>(x, y, 1), whole, 1e-4);
  near(trained<Train<TokensPadded<8>, ModelParallel<SplitCols, Ways<2>>>>(x, y, 1), whole, 1e-4);
  near(trained<Train<TokensPadded<8>, ModelParallel<SplitLayers<2>>>>(x, y, 1), whole, 1e-4);
  near(trained<Train<TokensPadded<8>, Precision<bf16>, DataParallel<Sync>>>(x, y, 2), whole, 0.2);
}
TEST_CASE("gradients of the layers") {
  for (auto const& report : {check_layer<Path<Masking, Attention<2, Padded>>, Sequence<4, 4>>(),
                             check_layer<Path<Masking, LastValidPosition>, Sequence<3, 4>>(),
                             check_layer<Path<Masking, MeanOverValidPositions>, Sequence<3, 4>>(),
                             check_layer<MeanOverPositions, Sequence<3, 4>>()}) {
    CHECK_MESSAGE(report.ok, report.text);
  }
}
TEST_CASE("scaled zeros would be no padding: .standardise is refused") {
  Trainer<Train<NumbersPadded<6>>> trainer(1, 3);
  CHECK_THROWS_WITH_AS(trainer.fit(numbers(24, 4, 6), labels(24), {.standardise = true}),
                       doctest::Contains("Masking takes positions of zeros for padding"), Error);
}
