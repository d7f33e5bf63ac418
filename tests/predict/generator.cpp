// predict/generator.cpp - a Generator, which computes each position once, against a Predictor, which computes all.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave.hpp>
#include <cleave/predict/generator.hpp>

#include <cmath>

#include "../io/scratch.hpp"

using namespace cleave;

namespace {

constexpr int positions = 9, letters = 13, features = 16;

struct Learned : Path<Residual<PerPosition<LayerNorm>, Attention<4, Causal>>,
                      Residual<PerPosition<LayerNorm, Linear<32>, Gelu, Linear<features>>>> {};
struct WithPositions : Sequential<Vector<positions>, Embedding<letters, features>, PositionEmbedding,
                                  Repeat<2, Learned>, PerPosition<LayerNorm, Linear<letters>, CrossEntropy>> {};
struct Turned : Path<Residual<PerPosition<RmsNorm>, Attention<2, Causal, Rotary, NoBias>>,
                     Residual<PerPosition<RmsNorm, SwiGlu<24>, Linear<features, NoBias>>>> {};
struct WithAngles : Sequential<Vector<positions>, Embedding<letters, features>, Repeat<2, Turned>,
                               PerPosition<RmsNorm, Linear<letters, NoBias>, CrossEntropy>> {};
struct Halved : Path<Residual<PerPosition<LayerNorm>, Attention<4, Causal>>, PerPosition<Dropout<20>>> {};
struct WithDropout : Sequential<Vector<positions>, Embedding<letters, features>, Halved,
                                PerPosition<Linear<letters>, ParallelCrossEntropy>> {};
struct Shared : Path<Residual<PerPosition<RmsNorm>, Attention<4, Causal, Rotary, KeyValueHeads<2>>>,
                     Residual<PerPosition<RmsNorm, SwiGlu<24>, Linear<features, NoBias>>>> {};
struct WithGroups : Sequential<Vector<positions>, Embedding<letters, features>, Repeat<2, Shared>,
                               PerPosition<RmsNorm, Linear<letters, NoBias>, CrossEntropy>> {};
/// Of three for each position; later ones are dropped.
struct Chosen : Path<Residual<PerPosition<RmsNorm>, Attention<2, Causal, Rotary, NoBias>>,
                     Residual<PerPosition<RmsNorm>,
                              Experts<4, TopExperts<3>, CapacityPercent<70>, SwiGlu<12>, Linear<features>>>> {};
struct WithExperts : Sequential<Vector<positions>, Embedding<letters, features>, Repeat<2, Chosen>,
                                PerPosition<RmsNorm, Linear<letters, NoBias>, CrossEntropy>> {};
struct WithOneTable
    : Sequential<Vector<positions>, Embedding<letters, features, Tied>, PositionEmbedding, Recompute<Learned>,
                 PerPosition<LayerNorm, Linear<letters, NoBias, Tied>, CrossEntropy>> {};
template <class Net> struct Train : Plan<Net, Batch<4>, Adam, DataParallel<Sync>> {};

/// A model that has learnt something, and its file.
template <class Net> struct Trained {
  scratch::Folder folder;
  std::string file = folder / "net.safetensors";
  Trainer<Train<Net>> trainer;

  Trained() {
    std::vector<float> x(16 * positions);
    std::vector<int> y(16 * positions);
    for (std::size_t i = 0; i < x.size(); ++i)
      x[i] = static_cast<float>(i * i % letters), y[i] = static_cast<int>(i % 5);
    trainer.fit(x, y, {.epochs = 3});
    trainer.save(file);
  }
};

}  // namespace

TEST_CASE_TEMPLATE("each position has the outputs that a Predictor computes of all", Net, WithPositions, WithAngles,
                   WithGroups, WithDropout, WithOneTable, WithExperts) {
  Trained<Net> net;
  Predictor<Net> predict(net.file);
  Generator<Net> of_file(net.file), of_trainer(net.trainer);
  std::vector<float> tokens(positions);
  for (int i = 0; i < positions; ++i) tokens[static_cast<std::size_t>(i)] = static_cast<float>((3 * i + 1) % letters);
  for (int again = 0; again < 2; ++again) {
    std::vector<float> const all = predict(tokens);
    for (int p = 0; p < positions; ++p) {
      int const token = (3 * p + 1) % letters;
      auto const a = of_file(token), b = of_trainer(token);
      REQUIRE(a.size() == letters);
      for (std::size_t k = 0; k < letters; ++k) {
        CAPTURE(p);
        CAPTURE(k);
        CHECK(std::abs(a[k] - all[static_cast<std::size_t>(p) * letters + k]) < 1e-5);
        CHECK(a[k] == b[k]);
      }
    }
    CHECK(of_file.size() == positions);
    of_file.restart(), of_trainer.restart();
    tokens[0] = 5;  // another sequence, of whose first only this is another
    static_cast<void>(of_file(5)), static_cast<void>(of_trainer(5));
    std::vector<float> const other = predict(tokens);
    CHECK(std::abs(of_file(4)[2] - other[letters + 2]) < 1e-5);
    of_file.restart(), of_trainer.restart();
    tokens[0] = 1;
  }
}
TEST_CASE("a text is drawn as by a Predictor") {
  Trained<WithPositions> net;
  Predictor<WithPositions> predict(net.file);
  Generator<WithPositions> generate(net.file);
  std::vector<int> const prompt{1, 4, 7};
  for (float const temperature : {0.0f, 0.8f}) {
    SampleOptions const how{.temperature = temperature, .top_k = 5, .seed = 3};
    std::vector<int> const wanted = sample_tokens(predict, prompt, 7, how);
    CHECK(sample_tokens(generate, prompt, 7, how) == wanted);
    CHECK(sample_tokens(generate, prompt, 7, how) == wanted);  // it begins again
  }
  CHECK(sample_tokens(generate, prompt, 0).empty());
}
TEST_CASE("the cache is two numbers for each position, feature and block") {
  constexpr long counts = 1 + 2;  // of learned positions, and of each attention
  static_assert(Generator<WithPositions>::cache_bytes >= 4 * (2 * 2 * positions * features + counts));
  static_assert(Generator<WithPositions>::cache_bytes < 4 * (2 * 2 * positions * features + counts) + 1024);
  CHECK(Generator<WithPositions>::width == letters);
  constexpr long shared = 2 * 2 * positions * features / 2 + 2 * 2;  // half as many heads; counts of the angles, too
  static_assert(Generator<WithGroups>::cache_bytes >= 4 * shared);
  static_assert(Generator<WithGroups>::cache_bytes < 4 * shared + 512);
}
TEST_CASE("tokens and lengths that do not fit are told") {
  Trained<WithPositions> net;
  Generator<WithPositions> generate(net.file);
  auto const told = [](auto what, std::string const& text) {
    std::string const said = scratch::message(what);
    CAPTURE(said);
    CHECK(scratch::has(said, text));
  };
  told([&] { generate(letters); }, "generate: token 13, but the model has tokens 0 to 12");
  for (int p = 0; p < positions; ++p) generate(1);
  told([&] { generate(1); }, "generate: the model has 9 positions, and this is one more; call restart");
  std::vector<int> const prompt{1, 2, 3};
  CHECK(sample_tokens(generate, prompt, 7).size() == 7);
  told([&] { sample_tokens(generate, prompt, 8); }, "generate: 3 tokens and 8 to draw, but the model has 9 positions");
  told([&] { sample_tokens(generate, std::vector<int>{}, 1); }, "the prompt is empty");
  told([&] { sample_tokens(generate, std::vector<int>{14}, 1); }, "the prompt has token 14");
}
