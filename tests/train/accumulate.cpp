// train/accumulate.cpp - in rounds: the same bits, the same gradients sent, and activations of one round only.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave.hpp>

using namespace cleave;

namespace {

using schedule::Category;

struct Dense : Sequential<Vector<20>, Linear<24>, Relu, Linear<16>, Tanh, Dropout<20>, Linear<4>, CrossEntropy> {};
struct Mixed : Sequential<Image<2, 8, 8>, Conv<4, 3, Pad<1>>, Relu, MaxPool<2>, Conv<8, 3, Pad<1>>, LayerNorm, Relu,
                          Linear<16>, Relu, Linear<4>, CrossEntropy> {};

template <class Net, class... Words> struct Of : Plan<Net, Batch<24>, MicroBatches<12>, Momentum, Words...> {};
template <class Net, int K, class... Words> struct In : Of<Net, Accumulate<K>, Words...> {};

/// Every rank's weights after a few steps, and the losses and the held-out accuracy on the way.
template <class P> struct After {
  std::vector<float> weights;
  std::vector<double> told;
  explicit After(int replicas) {
    Trainer<P> trainer(replicas, 11);
    session::Probing<P> probe;
    told = trainer.train(0, 6, probe.feed());
    CHECK(session::miscounted(trainer, 6, 0) == "");
    told.push_back(trainer.accuracy(probe.feed(), P::batch - 1));
    CHECK(session::miscounted(trainer, 6, 1) == "");
    for (int r = 0; r < trainer.ranks().ways(); ++r) {
      auto const* w = trainer.at(r).weights();
      for (long i = 0; i < P::schedule.weight_elements; ++i) weights.push_back(static_cast<float>(w[i]));
    }
  }
};

template <class P, class Q> void same(int replicas, bool bits = true) {
  CAPTURE(replicas);
  CAPTURE(Q::rounds);
  After<P> const whole(1);
  After<Q> const rounds(replicas);
  REQUIRE(rounds.weights.size() == whole.weights.size());
  for (std::size_t i = 0; i < whole.weights.size(); ++i) {
    if (bits) {
      REQUIRE(rounds.weights[i] == whole.weights[i]);
    } else {
      REQUIRE(rounds.weights[i] == doctest::Approx(whole.weights[i]).epsilon(1e-4));
    }
  }
  for (std::size_t i = 0; bits && i < whole.told.size(); ++i) CHECK(rounds.told[i] == whole.told[i]);
}

}  // namespace

TEST_CASE("2, 3 and 12 rounds on 1 to 4 replicas give the bits of one round on one") {
  using Data = DataParallel<Sync>;
  for (int n = 1; n <= 4; ++n) {
    same<Of<Dense, Data>, In<Dense, 2, Data>>(n);
    same<Of<Dense, Data>, In<Dense, 3, Data>>(n);
  }
  same<Of<Dense, Data>, In<Dense, 12>>(1);
}

TEST_CASE("a layer cut in two: the same bits as in one round") {
  same<Of<Dense, ModelParallel<SplitCols>>, In<Dense, 3, ModelParallel<SplitCols>>>(1);
  same<Of<Dense, ModelParallel<SplitRows>>, In<Dense, 3, ModelParallel<SplitRows>>>(1);
  same<Of<Dense, ModelParallel<SplitBatch>>, In<Dense, 3, ModelParallel<SplitBatch>>>(1);
}

TEST_CASE("one weird trick in rounds: all ways see the samples of a round together") {
  using Data = DataParallel<Sync>;
  using Trick = OneWeirdTrick<2>;
  for (int n : {1, 2, 3}) same<Of<Mixed, Trick, Data>, In<Mixed, 2, Trick, Data>>(n);
}

TEST_CASE("fp8 in rounds: each micro-batch has its own scales, whatever the round") {
  using Data = DataParallel<Sync>;
  for (int n : {1, 2}) same<Of<Dense, Precision<fp8>, Data>, In<Dense, 4, Precision<fp8>, Data>>(n);
}

TEST_CASE("bf16 in rounds: the same bits; as sums come, the same to rounding") {
  using Data = DataParallel<Sync>;
  for (int n : {1, 2, 3}) same<Of<Dense, Precision<bf16>, Data>, In<Dense, 4, Precision<bf16>, Data>>(n);
  same<Of<Dense, Data>, In<Dense, 2, Fastest, Data>>(2, false);
}

// Activations of a round, beside the sums of losses of all.
struct Large : Sequential<Vector<64>, Linear<512>, Relu, Linear<512>, Relu, Linear<8>, CrossEntropy> {};
template <int K> constexpr schedule::Memory bytes = memory<In<Large, K>>;
static_assert(bytes<2>[Category::Activations] < bytes<1>[Category::Activations] * 51 / 100);
static_assert(bytes<4>[Category::Activations] < bytes<1>[Category::Activations] * 26 / 100);
static_assert(bytes<12>[Category::Activations] < bytes<1>[Category::Activations] * 9 / 100);
static_assert(bytes<4>[Category::Weights] == bytes<1>[Category::Weights]);
// A round of 4 leaves one branch of the sum, one of 6 leaves two.
static_assert(bytes<3>[Category::Gradients] == bytes<1>[Category::Gradients]);
static_assert(bytes<2>[Category::Gradients] > bytes<1>[Category::Gradients] &&
              bytes<2>[Category::Gradients] <=
                  bytes<1>[Category::Gradients] + In<Large, 2>::schedule.weight_elements * 4);

// A replica's gradients are sent once a step; a conversion of activations as often as there are rounds, of as much.
template <class P> constexpr schedule::Traffic two = traffic<P, 2>;
static_assert(two<In<Large, 3, DataParallel<Sync>>>.elements_per_step ==
              two<Of<Large, DataParallel<Sync>>>.elements_per_step);
static_assert(two<In<Large, 3, DataParallel<Sync>>>.messages == two<Of<Large, DataParallel<Sync>>>.messages);
static_assert(traffic<In<Large, 3, ModelParallel<SplitCols>>>.elements_per_step ==
              traffic<Of<Large, ModelParallel<SplitCols>>>.elements_per_step);
static_assert(traffic<In<Large, 3, ModelParallel<SplitCols>>>.messages ==
              3 * traffic<Of<Large, ModelParallel<SplitCols>>>.messages);

TEST_CASE("the listing says the rounds") {
  std::string const text = schedule::listing<In<Large, 3, ModelParallel<SplitCols>>>({1, 2});
  CHECK(text.find("in each of 3 rounds, but start and update in the last alone:\n") == 0);
  CHECK(text.find("elements in 3 rounds\n") != std::string::npos);
  CHECK(schedule::listing<Of<Large, ModelParallel<SplitCols>>>({1, 2}).find("rounds") == std::string::npos);
}

TEST_CASE("a micro-batch for every rank in every round, or an error that says so") {
  using P = In<Dense, 3, DataParallel<Sync>>;
  CHECK_THROWS_WITH_AS(Trainer<P>(5), doctest::Contains("5 replicas x 1 ways x 3 rounds cannot share 12 micro-batches"),
                       Error);
  CHECK_THROWS_WITH_AS(Trainer<P>(5), doctest::Contains("MicroBatches<24>"), Error);
  using Cut = In<Dense, 4, DataParallel<Sync>, ModelParallel<SplitBatch>>;
  CHECK_THROWS_WITH_AS(Trainer<Cut>(2), doctest::Contains("MicroBatches<24>"), Error);
}
