// layer/tied.cpp - one weight of two layers: gradients, twins whose two weights are apart, replicas, files.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave.hpp>

#include <cmath>

using namespace cleave;

namespace {

/// GPT-2 of 124 million weights.
struct Block : Path<Residual<PerPosition<LayerNorm>, Attention<12, Causal>>,
                    Residual<PerPosition<LayerNorm, Linear<3072>, GeluTanh, Linear<768>>>> {};
struct Gpt2 : Sequential<Vector<1024>, Embedding<50257, 768, Tied>, PositionEmbedding, Repeat<12, Block>,
                         PerPosition<LayerNorm, Linear<50257, NoBias, Tied>, CrossEntropy>> {};
struct OneRank : Plan<Gpt2, Batch<8>, AdamW> {};
struct FourRanks : Plan<Gpt2, Batch<8>, AdamW, ModelParallel<SplitColsRows, Ways<4>>> {};
static_assert(OneRank::schedule.weight_elements == 124'439'808);
static_assert(FourRanks::schedule.weight_elements == 60'690'432);  // of a rank: the table whole, blocks by four

template <class... Options>
struct Net : Sequential<Vector<3>, Embedding<7, 4, Options...>,
                        PerPosition<Linear<4>, Tanh, Linear<7, NoBias, Options...>, CrossEntropy>> {};
template <class... Policies> struct Learning : Plan<Net<Tied>, Batch<8>, Policies...> {
  static constexpr Rate rate = Rate::constant(0.5f);
};

/// Loss and gradients of a step, of weights (7, 4), (4, 4), (4), and of a net whose weights are apart one more, (4, 7).
template <class N> struct Step {
  double loss = 0;
  std::vector<std::vector<double>> gradients;

  explicit Step(std::vector<std::vector<double>> const& weights) {
    using P = session::Probe<N>;
    session::Probing<P> data;
    for (std::size_t i = 0; i < data.x.size(); ++i) data.x[i] = static_cast<double>(i * i % 5);
    Trainer<P> trainer(1, 5);
    std::vector<session::Kept> const all = session::kept<P>();
    REQUIRE(all.size() == weights.size());
    for (std::size_t w = 0; w < all.size(); ++w) {
      REQUIRE(all[w].shape.size() == static_cast<long>(weights[w].size()));
      std::copy(weights[w].begin(), weights[w].end(), trainer.at(0).weights() + all[w].offset);
    }
    loss = trainer.train(0, 1, data.feed())[0];
    for (std::size_t w = 0; w < all.size(); ++w) {
      std::vector<double>& g = gradients.emplace_back(session::whole(trainer, all[w]));
      for (std::size_t i = 0; i < g.size(); ++i) g[i] = weights[w][i] - g[i];
    }
  }
};

}  // namespace

TEST_CASE("gradients of a weight of two layers, on any replicas") {
  using P = session::Probe<Net<Tied>>;
  static_assert(P::schedule.weight_elements == 28 + 16 + 4);
  session::Probing<P> probe;
  for (std::size_t i = 0; i < probe.x.size(); ++i) probe.x[i] = static_cast<double>(i * i % 5);
  auto const analytic = probe.step();
  CHECK(analytic.miscounted == "");
  REQUIRE(analytic.weights[0].size() == 28);
  double const h = 1.0 / 4096;
  for (long i = 0; i < 28; ++i) {
    double const high = probe.step(1, 0, i, h, 0).loss, low = probe.step(1, 0, i, -h, 0).loss;
    CHECK(analytic.weights[0][static_cast<std::size_t>(i)] == doctest::Approx((high - low) / (2 * h)).epsilon(1e-5));
  }
  using D = session::Probe<Net<Tied>, DataParallel<Sync>>;
  session::Probing<D> shared;
  shared.x = probe.x;
  for (int n : {2, 3, 4}) CHECK(shared.step(n).weights == analytic.weights);
}
TEST_CASE("the gradient is the sum of those of two weights, one the other transposed") {
  std::vector<std::vector<double>> weights;
  for (std::size_t n : {28u, 16u, 4u}) {
    std::vector<double>& w = weights.emplace_back(n);
    for (std::size_t i = 0; i < n; ++i) w[i] = std::sin(static_cast<double>(3 * i + n));
  }
  Step<Net<Tied>> const one(weights);
  std::vector<double>& head = weights.emplace_back(28);
  for (std::size_t i = 0; i < 28; ++i) head[i % 4 * 7 + i / 4] = weights[0][i];
  Step<Net<>> const two(weights);
  CHECK(one.loss == doctest::Approx(two.loss).epsilon(1e-12));
  for (std::size_t i = 0; i < 28; ++i) {
    double const sum = two.gradients[0][i] + two.gradients[3][i % 4 * 7 + i / 4];
    CHECK(one.gradients[0][i] == doctest::Approx(sum).epsilon(1e-10).scale(1));
  }
  for (std::size_t w : {1u, 2u})
    for (std::size_t i = 0; i < weights[w].size(); ++i)
      CHECK(one.gradients[w][i] == doctest::Approx(two.gradients[w][i]).epsilon(1e-10).scale(1));
}
TEST_CASE("a checkpoint has the weight once, under the embedding's name") {
  std::vector<std::string> names;
  for (session::Kept const& k : session::kept<session::Probe<Net<Tied>>>()) names.push_back(k.name);
  CHECK(names == std::vector<std::string>{"0.weight", "1.weight", "1.bias"});
}
TEST_CASE("a frozen embedding leaves the layer that reads it as it is") {
  using Frozen = Learning<DataParallel<Sync>, Freeze<1>>;
  Trainer<Frozen> trainer({.replicas = 2});
  std::vector<session::Kept> const all = session::kept<Frozen>();
  auto const table = session::whole(trainer, all[0]), between = session::whole(trainer, all[1]);
  trainer.fit(std::vector<float>(24 * 3, 2), std::vector<int>(24 * 3, 4), {.epochs = 1});
  CHECK(session::whole(trainer, all[0]) == table);
  CHECK(session::whole(trainer, all[1]) != between);
}
TEST_CASE("it learns by a parameter server, and by replicas that average") {
  auto const learns = []<class... Policies>(meta::list<Policies...>) {
    Trainer<Learning<Policies...>> trainer({.replicas = 2});
    std::vector<float> x(64 * 3);
    std::vector<int> y(64 * 3);
    for (std::size_t i = 0; i < x.size(); ++i) {
      x[i] = static_cast<float>(i * i % 7);
      y[i] = static_cast<int>(i * i % 7 + 1) % 7;
    }
    trainer.fit(x, y, {.epochs = 40});
    CHECK(trainer.evaluate(x, y).accuracy > 0.9);
  };
  learns(meta::list<DataParallel<Async>>{});
  learns(meta::list<DataParallel<LocalSGD<2>>>{});
}
