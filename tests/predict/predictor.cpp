// predict/predictor.cpp - a predictor has the bits of training's forward pass, for any number of samples, from any plan.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave.hpp>

#include <set>
#include <thread>

#include "../io/scratch.hpp"
#include "../train/signs.hpp"

using namespace cleave;

namespace {

struct Dense : Sequential<Vector<20>, Linear<24>, Relu, Linear<16>, Tanh, Linear<4>, CrossEntropy> {};
struct Pictures
    : Sequential<Image<2, 8, 8>, Conv<4, 3, Pad<1>>, BatchNorm, Relu, MaxPool<2>, Residual<Conv<4, 3, Pad<1>>, Relu>,
                 LocalResponseNorm<3>, Linear<24>, LayerNorm, Gelu, Dropout<20>, Linear<4>, CrossEntropy> {};
struct Cells
    : Sequential<Sequence<5, 4>, Lstm<8>, Gru<8>, Rnn<8>, Attention<2, Causal>, LastPosition, Linear<4>, CrossEntropy> {
};
struct Numbers : Sequential<Vector<6>, Linear<16>, Sigmoid, Linear<2>, MeanSquaredError> {};
struct Split : Sequential<Vector<20>, Linear<24, ModelParallel<SplitCols>>, Relu, Linear<16, ModelParallel<SplitRows>>,
                          Linear<4>, CrossEntropy> {};

template <class N, class... Ps> struct Of : Plan<N, Batch<24>, MicroBatches<8>, Ps...> {
  static constexpr Rate rate = Rate::constant(0.05f);
};
template <class P> std::vector<float> samples(int n) {
  std::vector<float> x(static_cast<std::size_t>(n * P::Net::input::shape.size()));
  auto const feed = signs::feed<P>();
  feed.pixels(nullptr, 0, 0, n, x.data());
  return x;
}
/// What the forward pass of evaluation gives for the first batch.
template <class P> std::vector<float> evaluated(Trainer<P>& trainer) {
  trainer.score(signs::feed<P>(), P::batch);
  auto const* const y = trainer.at(0).output();
  std::vector<float> out;
  for (long i = 0; i < P::batch * Predictor<typename P::Net>::outputs; ++i) out.push_back(static_cast<float>(y[i]));
  return out;
}
/// The bits of training's forward pass, for samples in blocks, one by one and in any mixture.
template <class P> void has_the_bits_of_training() {
  using Net = typename P::Net;
  Trainer<P> trainer(1, 7);
  trainer.train(0, 5, signs::feed<P>());
  Predictor<Net, typename P::number> predict(trainer);
  std::vector<float> const x = samples<P>(P::batch), wanted = evaluated(trainer);
  CHECK(predict(x) == wanted);
  std::vector<float> alone;
  for (std::size_t i = 0; i < P::batch; ++i) {
    std::size_t const each = x.size() / P::batch;
    std::vector<float> const one = predict(std::span(x).subspan(i * each, each));
    alone.insert(alone.end(), one.begin(), one.end());
  }
  CHECK(alone == wanted);
  std::vector<float> many;
  for (int i = 0; i < 3; ++i) many.insert(many.end(), x.begin(), x.end());  // two blocks of 32, and 8 samples
  std::vector<float> const three = predict(many);
  for (std::size_t i = 0; i < 3; ++i)
    CHECK(std::equal(wanted.begin(), wanted.end(), three.begin() + static_cast<long>(i * wanted.size())));
}
}  // namespace

TEST_CASE("the bits of training's forward pass, in every format") {
  has_the_bits_of_training<Of<Dense, Adam>>();
  has_the_bits_of_training<Of<Dense, Precision<f64>>>();
  has_the_bits_of_training<Of<Dense, Precision<bf16>>>();
  has_the_bits_of_training<Of<Pictures, DataParallel<Sync>, Momentum>>();
  has_the_bits_of_training<Of<Numbers>>();
  has_the_bits_of_training<Of<Cells>>();
  has_the_bits_of_training<Of<Cells, Precision<bf16>>>();
}
TEST_CASE("a checkpoint of any plan loads: split, on several replicas, in another format, with any optimizer") {
  scratch::Folder const folder;
  std::string const file = folder / "split.safetensors";
  using P = Of<Split, DataParallel<Sync>, Adam, Precision<bf16>>;
  Trainer<P> trainer(2, 7);
  trainer.train(0, 20, signs::feed<P>());
  session::save(trainer, file, 7);
  Predictor<Split> loaded(file), direct(trainer);
  std::vector<float> const x = samples<P>(40);
  CHECK(loaded(x) == direct(x));
  int right = 0;
  std::vector<int> labels(40);
  signs::feed<P>().labels(nullptr, 0, 0, 40, labels.data());
  std::vector<int> const classes = loaded.classes(x);
  for (std::size_t i = 0; i < 40; ++i) right += classes[i] == labels[i];
  double const accuracy = trainer.accuracy(signs::feed<P>(), 40);
  CHECK(std::fabs(right / 40.0 - accuracy) <= 0.05);  // bf16 there, f32 here
}
TEST_CASE("what a layer says of splits and messages is for training") {
  struct Sends : Sequential<Vector<20>, Linear<24, SendFactors>, Relu, Linear<4>, CrossEntropy> {};
  Trainer<Of<Sends, DataParallel<Sync>>> trainer(2, 7);
  Predictor<Sends> predict(trainer);
  CHECK(predict(samples<Of<Dense>>(3)).size() == 12);
}
TEST_CASE("probabilities are the softmax of the outputs; classes are the largest") {
  using P = Of<Dense>;
  Trainer<P> trainer(1, 7);
  Predictor<Dense> predict(trainer);
  std::vector<float> const x = samples<P>(5), y = predict(x), p = predict.probabilities(x);
  std::vector<int> const c = predict.classes(x);
  for (std::size_t i = 0; i < 5; ++i) {
    double sum = 0, whole = 0;
    for (std::size_t k = 0; k < 4; ++k) whole += std::exp(static_cast<double>(y[4 * i + k]));
    for (std::size_t k = 0; k < 4; ++k) {
      CHECK(static_cast<double>(p[4 * i + k]) == doctest::Approx(std::exp(static_cast<double>(y[4 * i + k])) / whole));
      CHECK(y[4 * i + k] <= y[4 * i + static_cast<std::size_t>(c[i])]);
      sum += static_cast<double>(p[4 * i + k]);
    }
    CHECK(sum == doctest::Approx(1));
  }
}
TEST_CASE("of several labels each has a probability") {
  struct Labels : Sequential<Vector<6>, Linear<3>, BinaryCrossEntropy> {};
  Trainer<Of<Labels>> trainer(1, 7);
  Predictor<Labels> predict(trainer);
  std::vector<float> const x = samples<Of<Labels>>(2), y = predict(x), p = predict.probabilities(x);
  for (std::size_t i = 0; i < y.size(); ++i) CHECK(p[i] == doctest::Approx(1 / (1 + std::exp(-y[i]))));
}
TEST_CASE("of outputs that are not numbers there are no classes and no probabilities") {
  constexpr float nan = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();
  struct Logits : Sequential<Vector<2>, Linear<2>, CrossEntropy> {};
  struct Labels : Sequential<Vector<2>, Linear<3>, BinaryCrossEntropy> {};
  struct Each : Sequential<Sequence<3, 2>, PerPosition<Linear<2>, CrossEntropy>> {};
  Trainer<Of<Logits>> trainer(1, 7);
  Predictor<Logits> predict(trainer);
  std::vector<float> const x{1, 2, 3, nan};
  std::string const wanted =
      "predict: sample 1: output 0 is not a number; look for inputs of this sample that are not finite or very large";
  CHECK(std::isnan(predict(x)[2]));  // the outputs themselves are given as they are
  CHECK_THROWS_WITH_AS(predict.classes(x), wanted.c_str(), Error);
  CHECK_THROWS_WITH_AS(predict.names(x), wanted.c_str(), Error);
  CHECK_THROWS_WITH_AS(predict.probabilities(x), wanted.c_str(), Error);
  CHECK(predict.classes(std::span(x).first(2)).size() == 1);

  std::vector<float> const two{0, infinity};  // a class is told, and no share of it
  CHECK(session::classes_of<Logits>(two, 2, 2) == std::vector{1});
  CHECK_THROWS_WITH_AS(session::probabilities_of<Logits>(two, 2, 2),
                       doctest::Contains("sample 0: output 1 is infinite"), Error);
  CHECK(session::probabilities_of<Labels>({infinity, -infinity, 0}, 3, 3) == std::vector{1.0f, 0.0f, 0.5f});
  CHECK_THROWS_WITH_AS(session::probabilities_of<Labels>({0, 1, 2, 3, nan, 5}, 3, 3),
                       doctest::Contains("sample 1: output 1 is not a number"), Error);
  CHECK_THROWS_WITH_AS(session::classes_of<Each>({0, 1, 2, 3, 4, 5, 0, 1, 2, nan, 4, 5}, 6, 2),
                       doctest::Contains("sample 1: position 1, output 1 is not a number"), Error);
}
TEST_CASE("inputs are preprocessed as in training, and classes have their names") {
  using P = Of<Numbers>;
  struct Named : Sequential<Vector<6>, Linear<2>, CrossEntropy> {};
  using Q = Of<Named>;
  scratch::Folder const folder;
  Trainer<Q> trainer(1, 7);
  session::Preprocessing how;
  how.scaling = {{1, 2, 3, 4, 5, 6}, {2, 2, 2, 4, 4, 4}};
  how.class_names = {"no", "yes"};
  session::save(trainer, folder / "a.safetensors", 7, true, &how);
  Predictor<Named> scales(folder / "a.safetensors"), plain(trainer);
  std::vector<float> const x = samples<P>(3);
  std::vector<float> by_hand = x;
  for (std::size_t i = 0; i < x.size(); ++i)
    by_hand[i] = (x[i] - how.scaling.mean[i % 6]) * (1 / how.scaling.deviation[i % 6]);
  CHECK(scales(x) == plain(by_hand));
  CHECK(scales.names(x).size() == 3);
  CHECK(scales.names(x)[0] == how.class_names[static_cast<std::size_t>(scales.classes(x)[0])]);
  CHECK_THROWS_WITH_AS(plain.names(x), doctest::Contains("0 class names"), Error);
}
TEST_CASE("memory is weights and activations; copies share the weights and may run at once") {
  static_assert(Predictor<Dense>::weight_bytes < 2 * 4 * (20 * 24 + 24 + 24 * 16 + 16 + 16 * 4 + 4));
  static_assert(Predictor<Dense>::bytes < memory<Of<Dense, Adam>>.total);
  static_assert(fits<Predictor<Dense>, Predictor<Dense>::bytes>);
  Trainer<Of<Dense>> trainer(1, 7);
  Predictor<Dense> predict(trainer);
  std::vector<float> const x = samples<Of<Dense>>(100), wanted = predict(x);
  std::vector<std::thread> threads;
  std::vector<int> same(4);
  for (std::size_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t, mine = predict]() mutable {
      for (int i = 0; i < 20; ++i) same[t] += mine(x) == wanted;
    });
  }
  for (auto& t : threads) t.join();
  CHECK(same == std::vector<int>(4, 20));
}
TEST_CASE("what does not fit is refused by one line") {
  scratch::Folder const folder;
  Trainer<Of<Dense>> trainer(1, 7);
  session::save(trainer, folder / "dense.safetensors", 7);
  CHECK_THROWS_WITH_AS(Predictor<Numbers>(folder / "dense.safetensors"),
                       doctest::Contains("tensor 0.weight is 20 x 24, this model's is 6 x 16"), Error);
  CHECK_THROWS_AS(Predictor<Dense>(folder / "none.safetensors"), Error);
  Predictor<Dense> predict(trainer);
  std::vector<float> const odd(21);
  CHECK_THROWS_WITH_AS(predict(odd), "predict: 21 numbers are no whole number of samples of 20", Error);
  std::vector<float> few(7);
  CHECK_THROWS_WITH_AS(predict(std::span(odd).first(20), few), doctest::Contains("room for 7 outputs"), Error);
}
TEST_CASE("outputs and metrics do not depend on the number of threads") {
  using P = Of<Dense, Adam>;
  Trainer<P> trainer(1, 7);
  trainer.train(0, 5, signs::feed<P>());
  for (int n : {1, 31, 64, 1000}) {
    std::vector<float> const x = samples<P>(n);
    std::vector<int> const y(static_cast<std::size_t>(n), 2);
    Predictor<Dense> one(trainer);
    auto const wanted = one(x);
    auto const [accuracy, matrix] = one.evaluate(x, y, Accuracy{}, ConfusionMatrix{});
    auto const classes = one.classes(x);
    CHECK(accuracy.value() == doctest::Approx(static_cast<double>(std::count(classes.begin(), classes.end(), 2)) / n));
    for (int threads : {2, 3, 7}) {
      auto many = trainer.predictor({.threads = threads});
      CHECK(many(x) == wanted);
      CHECK(many.evaluate(x, y, ConfusionMatrix{}).text() == matrix.text());
      auto copy = many;
      CHECK(copy(x) == wanted);
    }
  }
  CHECK_THROWS_WITH_AS(trainer.predictor({.threads = 0}), "predict: 0 threads; say at least 1", Error);
}
TEST_CASE("metrics of targets") {
  using P = Of<Numbers, Adam>;
  Trainer<P> trainer(1, 7);
  std::vector<float> const x = samples<P>(40);
  auto predict = trainer.predictor();
  auto const y = predict(x);
  std::vector<float> shifted(y);
  for (float& v : shifted) v += 0.5f;
  CHECK(predict.evaluate(x, y, MeanAbsoluteError{}).value() == 0);
  CHECK(predict.evaluate(x, shifted, RootMeanSquaredError{}).value() == doctest::Approx(0.5));
  CHECK_THROWS_WITH_AS(predict.evaluate(x, std::vector<int>(40, 2), Accuracy{}), doctest::Contains("label 2"), Error);
  CHECK_THROWS_WITH_AS(predict.evaluate(x, std::vector<float>(3), MeanAbsoluteError{}),
                       doctest::Contains("3 targets for 40 samples of 2"), Error);
}

TEST_CASE("an evaluation checks its samples as training does") {
  struct Words : Sequential<Vector<2>, Embedding<10, 3>, Linear<2>, CrossEntropy> {};
  Trainer<Of<Words>> trainer(1, 7);
  Predictor<Words> predict(trainer);
  std::vector<float> x{1, 2, 3, 77};
  std::vector<int> const y{0, 1};
  CHECK_THROWS_WITH_AS(predict.evaluate(x, y, Accuracy{}),
                       doctest::Contains("x, sample 1: number 1 is 77, which is no token of Embedding<10"), Error);
  Trainer<Of<Dense>> dense(1, 7);
  Predictor<Dense> of_numbers(dense);
  std::vector<float> z = samples<Of<Dense>>(2);
  z[25] = std::numeric_limits<float>::quiet_NaN();
  CHECK_THROWS_WITH_AS(of_numbers.evaluate(z, y, Accuracy{}), doctest::Contains("x, sample 1: number 5 is not finite"),
                       Error);
}
TEST_CASE("10,000 images have the classes that four ranks give them in batches of 128") {
  struct Net : Sequential<Image<1, 8, 8>, Conv<4, 3>, Relu, MaxPool<2>, Linear<10>, CrossEntropy> {};
  using P = Plan<Net, Batch<128>, DataParallel<Sync>, Momentum>;
  constexpr int n = 10'000;
  tensor::Random const random{3, tensor::Purpose::Augment, 0};
  std::vector<float> x(n * 64);
  std::vector<int> y(n);
  for (std::size_t i = 0; i < x.size(); ++i)
    x[i] = random.uniform(i) + 0.3f * static_cast<float>(i / 64 % 10 == i % 64 / 6);
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = static_cast<int>(i % 10);
  Trainer<P> trainer({.replicas = 4});
  trainer.fit(x, y, {.epochs = 1});
  Predictor<Net> predict(trainer);
  std::vector<int> const classes = predict.classes(x);
  auto const of_ranks = trainer.evaluate(x, classes);  // the labels are what one thread predicts
  CHECK(of_ranks.samples == n);
  CHECK(of_ranks.accuracy == 1);
  CHECK(std::set<int>(classes.begin(), classes.end()).size() > 3);
}
