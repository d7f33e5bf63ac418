// train/sequences.cpp - models of sequences under every way to cut them: the numbers of one rank.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave.hpp>
#include <cleave/train/emulated.hpp>

using namespace cleave;

namespace {

constexpr int positions = 6, letters = 12;

struct Block : Path<Residual<PerPosition<LayerNorm>, Attention<2, Causal>>,
                    Residual<PerPosition<LayerNorm, Linear<16>, Gelu, Linear<8>>>> {};
struct Gpt : Sequential<Vector<positions>, Embedding<letters, 8, SendDense>, PositionEmbedding, Repeat<2, Block>,
                        Dropout<10>, PerPosition<LayerNorm, Linear<letters>, CrossEntropy>> {};
struct Cells : Sequential<Vector<positions>, Embedding<letters, 8, SendDense>, Lstm<8>, Gru<8>, Rnn<8>,
                          PerPosition<Linear<letters>, CrossEntropy>> {};
struct Last : Sequential<Vector<positions>, Embedding<letters, 8, SendDense>, Gru<8>, LastPosition, Linear<letters>,
                         CrossEntropy> {};

template <class Net, class... Words> struct Train : Plan<Net, Batch<12>, MicroBatches<6>, Momentum, Words...> {
  static constexpr Rate rate = Rate::constant(0.1f);
};

/// Token k of sample s is a function of both, and the class of position k is token k + 1.
template <class P> struct Words {
  static int token(long sample, long k) { return static_cast<int>((sample * 5 + k * k * 3 + sample * k) % letters); }
  static backend::host::Feed feed() {
    return {nullptr,
            [](void const*, long step, long first, int count, float* out) {
              for (long s = 0; s < count; ++s)
                for (long k = 0; k < positions; ++k) *out++ = static_cast<float>(token(step * P::batch + first + s, k));
            },
            [](void const*, long step, long first, int count, int* out) {
              for (long s = 0; s < count; ++s)
                for (long k = 0; k < P::schedule.labels; ++k) {
                  long const sample = step * P::batch + first + s;
                  bool const counts = P::schedule.labels == 1 || (sample + k) % 5 > 0;
                  *out++ = counts ? token(sample, P::schedule.labels == 1 ? positions : k + 1) : op::ignored;
                }
            }};
  }
};

/// Losses of four steps, an evaluation, and all weights.
template <class P, class Trained> std::vector<double> trained(Trained&& trainer) {
  std::vector<double> all = trainer.train(0, 4, Words<P>::feed());
  auto const score = trainer.score(Words<P>::feed(), 17);
  all.push_back(score.loss);
  all.push_back(score.accuracy);
  CHECK(session::miscounted(trainer, 4, 2) == "");
  for (session::Kept const& k : session::kept<P>())
    for (auto v : session::whole(trainer, k)) all.push_back(static_cast<double>(v));
  return all;
}
template <class P> std::vector<double> trained(int replicas) { return trained<P>(Trainer<P>(replicas, 2)); }
template <class P> std::vector<double> on_device(int replicas) {
  return trained<P>(DeviceTrainer<P, backend::emulate::Machine>(replicas, 2));
}
void near(std::vector<double> const& got, std::vector<double> const& wanted, double tolerance) {
  REQUIRE(got.size() == wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i)
    REQUIRE(got[i] == doctest::Approx(wanted[i]).epsilon(tolerance).scale(1));
}

}  // namespace

TEST_CASE_TEMPLATE("any number of replicas has the bits of one", Net, Gpt, Cells, Last) {
  using P = Train<Net, DataParallel<Sync>>;
  auto const one = trained<P>(1);
  for (int n : {2, 3}) CHECK(trained<P>(n) == one);
  using Narrow = Train<Net, DataParallel<Sync>, Precision<bf16>>;
  CHECK(trained<Narrow>(3) == trained<Narrow>(1));
}
TEST_CASE_TEMPLATE("stages and ZeRO have the bits of one rank", Net, Gpt, Cells) {
  auto const one = trained<Train<Net, DataParallel<Sync>>>(1);
  CHECK(trained<Train<Net, ModelParallel<SplitLayers<3>>>>(1) == one);
  CHECK(trained<Train<Net, DataParallel<Sync, Zero<3>>>>(2) == one);
}
TEST_CASE_TEMPLATE("layers cut by columns and rows have the numbers of one rank", Net, Gpt, Cells) {
  auto const one = trained<Train<Net, DataParallel<Sync>>>(1);
  near(trained<Train<Net, DataParallel<Sync>, ModelParallel<SplitColsRows, Ways<2>>>>(2), one, 1e-4);
  near(trained<Train<Net, DataParallel<Sync>, ModelParallel<SplitBatch, Ways<2>>>>(1), one, 1e-4);
}
TEST_CASE_TEMPLATE("a device has the numbers of the host", Net, Gpt, Cells, Last) {
  using P = Train<Net, DataParallel<Sync>>;
  auto const host = trained<P>(1), one = on_device<P>(1);
  near(one, host, 1e-4);
  CHECK(on_device<P>(2) == one);
}
TEST_CASE("a block of a transformer cut by columns and rows sums once in each half and pass") {
  using P = Train<Gpt, ModelParallel<SplitColsRows, Ways<2>>>;
  constexpr auto sums = [] {
    int forward = 0;
    for (int k = 0; k < P::placed.count; ++k) forward += P::placed.node[k].conversion.forward == op::Verb::AllReduce;
    return forward;
  }();
  CHECK(sums == 4);  // two blocks
}
