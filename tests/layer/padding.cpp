// layer/padding.cpp - sequences of different length: a sample gives what it gives to a model of its own length.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave.hpp>

#include <cleave/train/emulated.hpp>

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
struct Feeding {
  std::vector<float> x;
  std::vector<int> y;
  backend::host::Feed feed() const {
    return {this,
            [](void const* self, long step, long first, int count, float* out) {
              auto const& me = *static_cast<Feeding const*>(self);
              std::size_t const each = me.x.size() / me.y.size();
              std::copy_n(me.x.begin() + static_cast<long>(each) * (step % 2 * 4 + first),
                          each * static_cast<std::size_t>(count), out);
            },
            [](void const* self, long step, long first, int count, int* out) {
              std::copy_n(static_cast<Feeding const*>(self)->y.begin() + step % 2 * 4 + first, count, out);
            },
            nullptr};
  }
};
/// Losses, and outputs for the samples, after three epochs.
template <class P>
std::vector<float> trained(std::vector<float> const& x, std::vector<int> const& y, int replicas = 1) {
  Trainer<P> trainer(replicas, 3);
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
TEST_CASE_TEMPLATE("long sequences, in several blocks, have the numbers of the definition, wherever padding is", Attend,
                   Attention<2, Padded>, Attention<2, Padded, Causal>, Attention<4, Padded, KeyValueHeads<2>>) {
  struct Long : Sequential<Sequence<150, 4>, Masking, Attend, LastValidPosition, Linear<3>, CrossEntropy> {};
  struct Few : Plan<Long, Batch<4>, MicroBatches<2>, DataParallel<Sync>, Momentum> {};
  std::vector<float> x = numbers(8, 150, 150);
  auto const pad = [&](int sample, int first, int last) {
    std::fill(x.begin() + sample * 600 + first * 4, x.begin() + sample * 600 + last * 4, 0.0f);
  };
  pad(0, 40, 150), pad(1, 0, 70), pad(2, 0, 130), pad(3, 0, 150), pad(4, 64, 128), pad(5, 0, 149), pad(6, 100, 150);
  for (int p = 0; p < 150; p += 2) pad(7, p, p + 1);
  Trainer<Few> host(1, 3);
  DeviceTrainer<Few, backend::emulate::Machine> definition(1, 3);
  near(host.predictor()(x), definition.predictor()(x), 1e-6);  // the same weights
  Feeding const samples{x, labels(8)};
  auto const a = host.train(0, 2, samples.feed()), b = definition.train(0, 2, samples.feed());
  for (std::size_t k = 0; k < 2; ++k) CHECK(a[k] == doctest::Approx(b[k]).epsilon(1e-6));
  for (session::Kept const& k : session::kept<Few>()) {
    auto const of_host = session::whole(host, k), of_definition = session::whole(definition, k);
    for (std::size_t w = 0; w < of_host.size(); ++w)
      CHECK(of_host[w] == doctest::Approx(of_definition[w]).epsilon(1e-4));
  }
}
TEST_CASE("paths have masks of their own; behind them the one that was changed, and of two none") {
  using In = Inputs<Vector<6>, Vector<6>>;
  struct Two
      : Sequential<In,
                   Branches<Concat, Path<In::at<0>, Embedding<20, 4, OfNumbers, PadToken<0>>, MeanOverValidPositions>,
                            Path<In::at<1>, Embedding<20, 4, OfNumbers, PadToken<1>>, MeanOverValidPositions>>,
                   Linear<3>, CrossEntropy> {};
  Trainer<Train<Two>> trainer(1, 3);
  auto predict = trainer.predictor();
  std::vector<float> x{3, 4, 5, 0, 0, 0, 6, 7, 1, 8, 9, 1};
  auto const before = predict(x);
  x[9] = 10;  // behind the padding of the first text, but no padding of the second
  CHECK(predict(x) != before);
  x[9] = 8, x[8] = 1, x[3] = 0;
  CHECK(predict(x) == before);
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
  CHECK(trained<Train<TokensPadded<8>, ModelParallel<SplitLayers<2>>>>(x, y, 1) == whole);
  near(trained<Train<TokensPadded<8>, Precision<bf16>, DataParallel<Sync>>>(x, y, 2), whole, 0.05);
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
