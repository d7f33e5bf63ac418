// layer/inputs.cpp - samples of several inputs: each part goes to its layers, in training and prediction, however it is split.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave.hpp>
#include <cleave/train/emulated.hpp>

#include "../io/scratch.hpp"

using namespace cleave;

namespace {

// The same model with its input in one part, in two, and with its tokens as numbers.
using Halves = Inputs<Vector<3>, Vector<4>>;
struct InOne : Sequential<Vector<7>, Linear<8>, Tanh, Linear<4>, CrossEntropy> {};
struct InTwo : Sequential<Halves, Branches<Concat, Path<Halves::at<0>>, Path<Halves::at<1>>>, Linear<8>, Tanh,
                          Linear<4>, CrossEntropy> {};
using Alone = Inputs<Vector<6>>;
struct Tokens : Sequential<Vector<6>, Embedding<20, 8, SendDense>, Gru<8>, LastPosition, Linear<4>, CrossEntropy> {};
struct Numbers
    : Sequential<Alone, Alone::at<0>, Embedding<20, 8, OfNumbers>, Gru<8>, LastPosition, Linear<4>, CrossEntropy> {};
using Three = Inputs<Vector<6>, Sequence<2, 2>, Image<1, 6, 6>>;
struct Mixed
    : Sequential<Three,
                 Branches<Concat, Path<Three::at<0>, Embedding<20, 8, OfNumbers, PadToken<0>>, MeanOverValidPositions>,
                          Path<Three::at<1>, Gru<4>, LastPosition>,
                          Path<Three::at<2>, Conv<4, 3>, Relu, MaxPool<2>, Linear<8>>>,
                 Linear<16>, Relu, Linear<4>, CrossEntropy> {};
template <class Net, class... Words> struct Train : Plan<Net, Batch<12>, MicroBatches<6>, Momentum, Words...> {
  static constexpr Rate rate = Rate::constant(0.05f);
};

float number(long sample, long k) {
  return tensor::Random{5, tensor::Purpose::Augment, 0}.uniform(static_cast<std::uint64_t>(sample * 1000 + k));
}
struct Samples {
  using Input = Three;
  using Target = Class<4>;
  static long size() { return 240; }
  static void read(long i, std::span<float> x, int& y) {
    int k = 0, tokens = 1 + static_cast<int>(i % 6);
    for (float& v : Three::part(0, x)) v = k++ < tokens ? std::floor(1 + 19 * number(i, k)) : 0;
    for (float& v : Three::part(1, x)) v = number(i, k++) - 0.5f;
    for (float& v : Three::part(2, x)) v = number(i, k++) + static_cast<float>(i % 2);
    y = static_cast<int>(i % 2) + 2 * (x[6] > 0);
  }
};
template <class Trained> std::vector<float> after(Trained&& trainer, int epochs = 2) {
  std::vector<float> out;
  for (Epoch const& e : trainer.fit(Samples(), {.epochs = epochs}).epochs) out.push_back(static_cast<float>(e.loss));
  std::vector<float> x(static_cast<std::size_t>(Three::whole));
  int y = 0;
  Samples::read(7, x, y);
  auto const of = trainer.predictor()(x);
  out.insert(out.end(), of.begin(), of.end());
  return out;
}
void near(std::vector<float> const& a, std::vector<float> const& b, double tolerance) {
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) CHECK(a[i] == doctest::Approx(b[i]).epsilon(tolerance));
}
/// Losses of two models that begin with the same weights.
template <class A, class B>
void train_alike(std::vector<float> const& x, TorchNames const& of_a, TorchNames const& of_b) {
  std::vector<int> y;
  for (int i = 0; i < 48; ++i) y.push_back(i % 4);
  scratch::Folder const folder;
  Trainer<Train<A>> a(1, 3);
  Trainer<Train<B>> b(1, 4);
  a.save_torch(folder / "w.safetensors", of_a);
  b.load_torch(folder / "w.safetensors", of_b);
  CHECK(a.predictor()(x) == b.predictor()(x));
  FitOptions const how{.epochs = 1};
  auto const batches = [&](auto& trainer) {
    std::vector<double> losses;
    for (auto const& at : trainer.batches(x, y, how)) losses.push_back(trainer.step(at));
    return losses;
  };
  Trainer<Train<A>> same(1, 4);
  same.load_torch(folder / "w.safetensors", of_a);
  CHECK(batches(same) == batches(b));
}

}  // namespace

TEST_CASE("parts that are joined again are the input: the same bits") {
  std::vector<float> x;
  for (int i = 0; i < 48 * 7; ++i) x.push_back(number(1, i));
  train_alike<InOne, InTwo>(x, {{0, "a"}, {2, "b"}}, {{3, "a"}, {5, "b"}});
}
TEST_CASE("tokens as numbers are tokens: the same bits") {
  std::vector<float> x;
  for (int i = 0; i < 48 * 6; ++i) x.push_back(std::floor(20 * number(2, i)));
  train_alike<Tokens, Numbers>(x, {{0, "a"}, {1, "b"}, {3, "c"}}, {{1, "a"}, {2, "b"}, {4, "c"}});
}
TEST_CASE("tokens, a sequence and an image: learnt; on replicas, splits, stages and a device with the same numbers") {
  struct Learn : Plan<Mixed, Batch<12>, MicroBatches<6>, DataParallel<Sync>, Adam> {};
  Trainer<Learn> learn({.replicas = 2});
  CHECK(learn.fit(Samples(), {.epochs = 20, .rate = Rate::constant(0.01f)}).best().loss < 0.1);
  using Sum = Train<Mixed, DataParallel<Sync>>;
  auto const one = after(Trainer<Sum>(1, 3));
  CHECK(after(Trainer<Sum>(3, 3)) == one);
  near(after(Trainer<Train<Mixed, ModelParallel<SplitCols, Ways<2>>>>(1, 3)), one, 1e-4);
  CHECK(after(Trainer<Train<Mixed, ModelParallel<SplitLayers<2>>>>(1, 3)) == one);
  near(after(DeviceTrainer<Sum, backend::emulate::Machine>(2, 3), 1), after(Trainer<Sum>(1, 3), 1), 1e-4);
}
TEST_CASE("what is no token among the inputs is refused, in training and prediction; tokens are not scaled") {
  Trainer<Train<Numbers>> trainer(1, 3);
  auto predict = trainer.predictor();
  std::vector<float> x{1, 2, 3, 4, 5, 6};
  CHECK(std::isfinite(predict(x)[0]));
  for (float const wrong : {3.5f, -1.0f, 20.0f}) {
    x[2] = wrong;
    CHECK_THROWS_WITH_AS(predict(x), doctest::Contains("predict: sample 0: number 2 is "), Error);
  }
  std::vector<float> all(6 * 12, 1.0f);
  all[8] = 20;
  CHECK_THROWS_WITH_AS(
      trainer.fit(all, std::vector<int>(12)),
      "x, sample 1: number 2 is 20, which is no token of Embedding<20, ...>; tokens are whole, 0 to 19", Error);
  CHECK_THROWS_WITH_AS(trainer.fit(std::vector<float>(72), std::vector<int>(12), {.standardise = true}),
                       doctest::Contains("reads token numbers, which cannot be scaled"), Error);
}
TEST_CASE("a number that is no token of the table gives a row that is not finite") {
  constexpr op::Local l{1, 1, Shape(3), Shape(), Shape(3, 2), Shape(20, 2), Shape()};
  op::Operands<float> t;
  float const table[40] = {};
  float y[6];
  t.w0 = table, t.y = y;
  for (float const wrong : {3.5f, -1.0f, 20.0f}) {
    float const x[3] = {1, wrong, 19};
    t.x = x;
    op::Lookup<20, 2, false, true>::forward<l>(backend::host::Context{}, t);
    for (int i = 0; i < 6; ++i) CHECK(std::isfinite(y[i]) == (i / 2 != 1));
  }
}
TEST_CASE("arrays of each input are joined") {
  std::vector<float> const a{1, 2, 3, 4, 5, 6}, b{10, 11, 12, 13, 20, 21, 22, 23}, wrong{1, 2, 3};
  CHECK(Halves::join({a, b}) == std::vector<float>{1, 2, 3, 10, 11, 12, 13, 4, 5, 6, 20, 21, 22, 23});
  CHECK_THROWS_WITH_AS(Halves::join({a, wrong}), "Inputs: 3 numbers of input 1 for 2 samples of 4", Error);
}
