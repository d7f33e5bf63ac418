// train/sample_weights.cpp - weights of samples as of classes: the same training, bit for bit, under any plan.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave.hpp>
#include <cleave/data/span_set.hpp>
#include <cleave/data/weighted_set.hpp>
#include <cleave/train/emulated.hpp>

#include <algorithm>
#include <cmath>

#include "../io/scratch.hpp"

using namespace cleave;

namespace {

template <class Loss> struct Of : Sequential<Vector<4>, Linear<8>, Tanh, Linear<3>, Loss> {};
using ByClass = WeightedCrossEntropy<50, 0, 450>;
using BySample = SampleWeighted<CrossEntropy>;
std::vector<float> const of_class{0.5f, 0, 4.5f};

struct Samples {
  std::vector<float> x = std::vector<float>(4 * 101);
  std::vector<int> y = std::vector<int>(101);
  Samples() {
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * i % 17) / 8 - 1;
    for (std::size_t i = 0; i < y.size(); ++i) y[i] = static_cast<int>(i * 5 % 3);
  }
};

struct Trained {
  std::vector<double> losses;
  std::vector<float> outputs;
  friend bool operator==(Trained const&, Trained const&) = default;
};
template <class Trainer> Trained fitted(Trainer&& trainer, std::vector<float> const& weights) {
  Samples const s;
  Trained out;
  for (auto const& e : trainer.fit(s.x, s.y, {.epochs = 3, .validation = 0.2, .sample_weights = weights}).epochs) {
    out.losses.push_back(e.loss);
    out.losses.push_back(e.val_loss);
  }
  for (std::size_t i = 0; i < 10; ++i) {
    auto const of = trainer.predictor()(std::span<float const>(s.x).subspan(4 * i, 4));
    out.outputs.insert(out.outputs.end(), of.begin(), of.end());
  }
  return out;
}
template <class Loss, class... Ps> struct Train : Plan<Of<Loss>, Batch<16>, MicroBatches<4>, Momentum, Ps...> {
  static constexpr Rate rate = Rate::constant(0.1f);
};
struct Sequences : Sequential<Sequence<3, 2>, PerPosition<Linear<3>, SampleWeighted<CrossEntropy>>> {};
template <class N>
struct OfSequences : Plan<Sequences, Batch<12>, MicroBatches<4>, DataParallel<Sync>, ModelParallel<SplitPositions, N>> {
  static constexpr Rate rate = Rate::constant(0.25f);
};
template <class... Ps> void same(int replicas) {
  Samples const s;
  auto const wanted = fitted(Trainer<Train<ByClass, Ps...>>({.replicas = replicas}), {});
  CHECK(fitted(Trainer<Train<BySample, Ps...>>({.replicas = replicas}), class_weights(s.y, of_class)) == wanted);
  CHECK(fitted(Trainer<Train<BySample, Ps...>>({.replicas = replicas}), {}) != wanted);
}

}  // namespace

TEST_CASE("on one rank, on replicas, in rounds, with ZeRO, in a pipeline, around a server") {
  same<>(1);
  same<DataParallel<Sync>>(2);
  same<DataParallel<Sync>, Accumulate<2>>(2);
  same<DataParallel<Sync, Zero<3>>>(2);
  same<ModelParallel<SplitLayers<2>>>(1);
  same<ModelParallel<SplitLayers<2, GPipe>>, DataParallel<Sync>>(1);
  same<DataParallel<Sync>, Shards<2>>(2);
}
TEST_CASE("in other formats, with columns on ranks, with a scaled loss") {
  same<Precision<bf16>, DataParallel<Sync>>(2);
  same<Precision<f64>, ModelParallel<SplitCols, Ways<2>>>(1);
  same<Precision<f16>, LossScale<>>(1);
}
TEST_CASE("on a device as on threads") {
  Samples const s;
  using P = Train<BySample, DataParallel<Sync>>;
  auto const weights = class_weights(s.y, of_class);
  Trained const wanted = fitted(Trainer<P>({.replicas = 2}), weights);
  Trained const got = fitted(DeviceTrainer<P, backend::emulate::Machine>({.replicas = 2}), weights);
  for (std::size_t i = 0; i < wanted.losses.size(); ++i)
    CHECK(got.losses[i] == doctest::Approx(wanted.losses[i]).epsilon(1e-5));
  for (std::size_t i = 0; i < wanted.outputs.size(); ++i)
    CHECK(got.outputs[i] == doctest::Approx(wanted.outputs[i]).epsilon(1e-4));
}

TEST_CASE(
    "a data set brings its weights along; an evaluation weighs by them, and a loop of one's own trains with them") {
  Samples const s;
  auto const weights = class_weights(s.y, of_class);
  SpanSet<Vector<4>, Class<3>> const plain(s.x, s.y);
  auto const weighted = with_weights(plain, weights);
  using P = Train<BySample, DataParallel<Sync>>;
  Trainer<P> a({.replicas = 2}), b({.replicas = 2});
  a.fit(weighted, {.epochs = 2});
  double loss = 0;
  for (auto const& at : b.batches(s.x, s.y, {.epochs = 2, .sample_weights = weights})) loss = b.step(at);
  CHECK(loss > 0);
  CHECK(a.evaluate(weighted).loss == b.evaluate(weighted).loss);
  double sum = 0;
  for (std::size_t i = 0; i < s.y.size(); ++i) {
    auto const one = a.evaluate(std::span<float const>(s.x).subspan(4 * i, 4), std::span<int const>(s.y).subspan(i, 1));
    sum += static_cast<double>(weights[i]) * one.loss;
  }
  CHECK(a.evaluate(weighted).loss == doctest::Approx(sum / 101).epsilon(1e-6));
  CHECK(a.evaluate(weighted).accuracy == a.evaluate(plain).accuracy);
  auto const [training, held_out] = split(weighted, 0.25);
  History const h = a.fit(training, held_out, {.epochs = 1});
  CHECK(h.epochs[0].val_loss == a.evaluate(held_out).loss);
}
TEST_CASE("a sequence has a weight for all its positions, on whatever ranks they are") {
  Samples const s;
  auto const x = std::span<float const>(s.x).first(6 * 60);
  std::vector<int> y(3 * 60);
  std::vector<float> weights(60);
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = i % 7 == 3 ? op::ignored : s.y[i % 101];
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<float>(i % 5) / 2;
  auto const outputs = [&](auto&& trainer, std::vector<float> const& of) {
    auto const h = trainer.fit(x, y, {.epochs = 2, .sample_weights = of});
    auto const got = trainer.predictor()(x);
    std::vector<double> out(got.begin(), got.end());
    out.push_back(h.epochs[1].loss);
    return out;
  };
  using OnDevice = DeviceTrainer<OfSequences<Ways<3>>, backend::emulate::Machine>;
  auto const wanted = outputs(Trainer<OfSequences<Ways<1>>>({.replicas = 1}), weights);
  auto const near = [&](std::vector<double> const& got) {
    for (std::size_t i = 0; i < wanted.size(); ++i) CHECK(got[i] == doctest::Approx(wanted[i]).epsilon(1e-4));
  };
  near(outputs(Trainer<OfSequences<Ways<3>>>({.replicas = 1}), weights));
  near(outputs(Trainer<OfSequences<Ways<3>>>({.replicas = 2}), weights));
  near(outputs(OnDevice({.replicas = 2}), weights));
  std::reverse(weights.begin(), weights.end());
  CHECK(std::abs(outputs(Trainer<OfSequences<Ways<1>>>({.replicas = 1}), weights).back() - wanted.back()) > 1e-3);
}
TEST_CASE("a training goes on from a checkpoint with its weights, and with no others") {
  Samples const s;
  scratch::Folder const folder;
  auto const weights = class_weights(s.y, of_class);
  auto const trained = [&](int epochs, std::string const& file, std::vector<float> const& of) {
    Trainer<Train<BySample>> t;
    auto const h = t.fit(s.x, s.y, {.epochs = epochs, .checkpoint = folder / file, .sample_weights = of});
    return h.epochs.back().loss;
  };
  double const wanted = trained(3, "whole.safetensors", weights);
  trained(1, "part.safetensors", weights);
  CHECK(trained(3, "part.safetensors", weights) == wanted);
  trained(1, "other.safetensors", weights);
  auto others = weights;
  others[50] += 1;
  CHECK_THROWS_AS(trained(3, "other.safetensors", others), Error);
}
TEST_CASE("samples of weight 0 change nothing: whatever they are") {
  Samples s;
  std::vector<float> weights(s.y.size(), 1);
  for (std::size_t i = 0; i < s.y.size(); i += 3) weights[i] = 0;
  auto const trained = [&] {
    Trainer<Train<BySample>> t;
    t.fit(s.x, s.y, {.epochs = 2, .sample_weights = weights});
    auto const of = t.predictor()(std::span<float const>(s.x).subspan(4, 4));
    return std::vector<float>(of.begin(), of.end());
  };
  auto const wanted = trained();
  for (std::size_t i = 0; i < s.y.size(); i += 3) s.y[i] = (s.y[i] + 1) % 3;
  CHECK(trained() == wanted);
  s.y[1] = (s.y[1] + 1) % 3;
  CHECK(trained() != wanted);
}
TEST_CASE("weights that do not fit are refused before anything is trained") {
  Samples const s;
  SpanSet<Vector<4>, Class<3>> const plain(s.x, s.y);
  std::vector<float> weights(101, 1);
  auto const set = with_weights(plain, weights);
  Trainer<Train<BySample>> t;
  CHECK_THROWS_WITH_AS(t.fit(s.x, s.y, {.sample_weights = {1, 2}}), "fit: 2 .sample_weights for 101 samples", Error);
  CHECK_THROWS_WITH_AS(t.fit(set, {.sample_weights = weights}),
                       "fit: .sample_weights are given, but the data set has weights of its own; leave one out", Error);
  weights[7] = -1;
  CHECK_THROWS_WITH_AS(t.fit(s.x, s.y, {.sample_weights = weights}),
                       "fit: the weight of sample 7 is -1, not a finite number of 0 or more", Error);
  CHECK_THROWS_WITH_AS(Trainer<Train<ByClass>>().fit(s.x, s.y, {.sample_weights = weights}),
                       "fit: .sample_weights are given, which weighted_cross_entropy does not read; end the model with "
                       "SampleWeighted<loss>",
                       Error);
  CHECK(t.steps() == 0);
}
