// train/class_parts.cpp - classes on several ranks, of which no logits are gathered: the training of one rank, on devices too.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave.hpp>
#include <cleave/train/emulated.hpp>

#include "values.hpp"

using namespace cleave;

namespace {

template <class Loss>
struct Pictures : Sequential<Vector<12>, Linear<16, ModelParallel<Whole>>, Tanh, Linear<64>, Loss> {};
template <class Loss> struct Text : Sequential<Sequence<3, 12>, PerPosition<Linear<16>, Tanh, Linear<64>, Loss>> {};
/// As a transformer has it: one table, whose rows are classes in the end.
template <class Table, class Last, class Loss>
struct Words
    : Sequential<Vector<4>, Embedding<64, 6, Tied, ModelParallel<Table>>,
                 PerPosition<Linear<6, ModelParallel<Whole>>, Tanh, Linear<64, Tied, ModelParallel<Last>>, Loss>> {};
template <class N, class... Ps> struct Of : Plan<N, Batch<8>, MicroBatches<4>, Precision<f64>, InputGradient, Ps...> {
  static constexpr Rate rate = Rate::constant(1);
};
template <class N, class Number, class... Ps> struct In : Plan<N, Batch<8>, MicroBatches<4>, Precision<Number>, Ps...> {
  static constexpr Rate rate = Rate::constant(0.1f);
};
template <class P, class Q> void agrees(int replicas) {
  CHECK(session::same<P, Q>("in parts", replicas, 1e-9).text == "");
}

}  // namespace

TEST_CASE("in parts on one rank, and as columns of two and of four, beside replicas") {
  using Whole1 = Of<Pictures<CrossEntropy>>;
  using Parts = Pictures<ParallelCrossEntropy>;
  using Two = Of<Parts, DataParallel<Sync>, ModelParallel<SplitCols, Ways<2>>>;
  using Four = Of<Parts, DataParallel<Sync>, ModelParallel<SplitCols, Ways<4>>>;
  agrees<Whole1, Of<Parts>>(1);
  agrees<Whole1, Two>(2);
  agrees<Whole1, Four>(1);
  CHECK(session::Probing<Two>().step().loss == session::Probing<Of<Parts>>().step().loss);  // to the last bit
  CHECK(session::Probing<Four>().step().loss == session::Probing<Of<Parts>>().step().loss);
  // Each way sends the eight numbers of its part, one of four, to the others; a gradient of 16 features is summed.
  static_assert(traffic<Four, 1>.elements_per_step == 8 * (3 * 8) + 8 * 16 * 2 * 3 / 4);
  static_assert(
      traffic<Of<Pictures<CrossEntropy>, DataParallel<Sync>, ModelParallel<SplitCols, Ways<4>>>, 1>.elements_per_step ==
      8 * (3 * 16) + 8 * 16 * 2 * 3 / 4);  // the logits of each way
  CHECK(check_loss<ParallelCrossEntropy, Vector<32>>().text == "right");
}
TEST_CASE("a class for each position; evaluations see what one rank sees") {
  using One = Of<Text<CrossEntropy>>;
  using Four = Of<Text<ParallelCrossEntropy>, DataParallel<Sync>, ModelParallel<SplitCols, Ways<4>>>;
  agrees<One, Of<Text<ParallelCrossEntropy>>>(1);
  agrees<One, Four>(2);
  session::Probing<One> const probe;
  Trainer<One> one(1, 5);
  Trainer<Four> four(2, 5);
  auto const wanted = one.score(probe.feed(), 20), got = four.score(probe.feed(), 20);
  CHECK(got.loss == doctest::Approx(wanted.loss));
  CHECK(got.accuracy == wanted.accuracy);
  CHECK(got.confusion == wanted.confusion);
  CHECK(got.confusion.size() == 64 * 64);
  CHECK(check_loss<PerPosition<ParallelCrossEntropy>, Sequence<3, 32>>().text == "right");
}
TEST_CASE("classes that do not divide are gathered first, with the same result") {
  struct Odd : Sequential<Vector<12>, Linear<9>, ParallelCrossEntropy> {};
  struct Plain9 : Sequential<Vector<12>, Linear<9>, CrossEntropy> {};
  agrees<Of<Plain9>, Of<Odd, ModelParallel<SplitCols, Ways<2>>>>(1);
}
TEST_CASE("a tied table, by rows in front and by columns in the end; positions that do not count") {
  using One = In<Words<Whole, Whole, CrossEntropy>, f32>;
  using Two =
      In<Words<SplitRows, SplitCols, ParallelCrossEntropy>, f32, DataParallel<Sync>, ModelParallel<Whole, Ways<2>>>;
  std::vector<float> x(40 * 4);
  std::vector<int> y(40 * 4);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * i * 7 % 64);
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = i % 9 == 0 ? -1 : static_cast<int>(i * 5 % 64);
  Trainer<One> one(1, 7);
  Trainer<Two> two(2, 7);
  double const wanted = one.fit(x, y, {.epochs = 3}).epochs.back().loss;
  CHECK(two.fit(x, y, {.epochs = 3}).epochs.back().loss == doctest::Approx(wanted).epsilon(1e-5));
  auto const a = values(one), b = values(two);
  for (std::size_t i = 0; i < a.size(); ++i) CHECK(b[i] == doctest::Approx(a[i]).epsilon(1e-4).scale(1));
  auto p = one.predictor();  // of logits, not of sums
  auto q = two.predictor();
  auto const u = p(x), v = q(x);
  REQUIRE(u.size() == v.size());
  for (std::size_t i = 0; i < u.size(); ++i) CHECK(v[i] == doctest::Approx(u[i]).epsilon(1e-4).scale(1));
}
TEST_CASE("in bf16, with a loss scale in f16, and in a pipeline's last stage") {
  auto const near = []<class P, class Q>(meta::type<P>, meta::type<Q>, double within) {
    session::Probing<P> const probe;
    Trainer<P> one(1, 5);
    Trainer<Q> split(1, 5);
    for (int k = 0; k < 4; ++k)
      CHECK(split.train(k, 1, probe.feed())[0] == doctest::Approx(one.train(k, 1, probe.feed())[0]).epsilon(within));
  };
  using Split = ModelParallel<SplitCols, Ways<2>>;
  near(meta::type<In<Text<CrossEntropy>, bf16>>{}, meta::type<In<Text<ParallelCrossEntropy>, bf16, Split>>{}, 1e-3);
  near(meta::type<In<Text<CrossEntropy>, f16, LossScale<64, 100>>>{},
       meta::type<In<Text<ParallelCrossEntropy>, f16, LossScale<64, 100>, Split>>{}, 1e-3);
  near(meta::type<In<Text<CrossEntropy>, f32>>{},
       meta::type<In<Text<ParallelCrossEntropy>, f32, ModelParallel<SplitLayers<2>>, Split>>{}, 1e-5);
}
TEST_CASE("on a device, whose kernels take many rows otherwise than few") {
  using Many =
      Plan<Text<ParallelCrossEntropy>, Batch<256>, MicroBatches<2>, Precision<f64>, ModelParallel<SplitCols, Ways<2>>>;
  session::Probing<Many> const much;
  Trainer<Many> one(1, 5);
  DeviceTrainer<Many, backend::emulate::Machine> of_device(1, 5, std::make_unique<backend::emulate::Machine>(2u));
  CHECK(of_device.train(0, 2, much.feed())[1] == doctest::Approx(one.train(0, 2, much.feed())[1]).epsilon(1e-9));
  using P = Of<Text<ParallelCrossEntropy>, DataParallel<Sync>, ModelParallel<SplitCols, Ways<4>>>;
  session::Probing<P> const probe;
  Trainer<P> threads(2, 5);
  DeviceTrainer<P, backend::emulate::Machine> device(2, 5, std::make_unique<backend::emulate::Machine>(3u));
  CHECK(device.train(0, 3, probe.feed())[2] == doctest::Approx(threads.train(0, 3, probe.feed())[2]).epsilon(1e-9));
  CHECK(session::miscounted(device, 3) == "");
  auto const wanted = threads.score(probe.feed(), 20), got = device.score(probe.feed(), 20);
  CHECK(got.loss == doctest::Approx(wanted.loss));
  CHECK(got.confusion == wanted.confusion);
}
