// train/sequences.hpp - small models of sequences, trained for a few steps: losses, an evaluation, all weights.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <doctest/doctest.h>
#include <cleave.hpp>

namespace sequences {

using namespace cleave;

inline constexpr int positions = 6, letters = 12;

struct Block : Path<Residual<PerPosition<LayerNorm>, Attention<2, Causal>>,
                    Residual<PerPosition<LayerNorm, Linear<16>, Gelu, Linear<8>>>> {};
struct Gpt : Sequential<Vector<positions>, Embedding<letters, 8, SendDense>, PositionEmbedding, Repeat<2, Block>,
                        Dropout<10>, PerPosition<LayerNorm, Linear<letters>, CrossEntropy>> {};
struct Tables : Sequential<Vector<positions>, Embedding<letters, 8, Tied>, PositionEmbedding, Block,
                           PerPosition<LayerNorm, Linear<letters, Tied>, CrossEntropy>> {};
struct Shared : Path<Residual<PerPosition<RmsNorm>, Attention<4, Causal, Rotary, KeyValueHeads<2>>>,
                     Residual<PerPosition<RmsNorm, SwiGlu<16>, Linear<8, NoBias>>>> {};
struct Grouped : Sequential<Vector<positions>, Embedding<letters, 8, SendDense>, Repeat<2, Shared>,
                            PerPosition<RmsNorm, Linear<letters>, CrossEntropy>> {};
struct Cells : Sequential<Vector<positions>, Embedding<letters, 8, SendDense>, Lstm<8>, Gru<8>, Rnn<8>,
                          PerPosition<Linear<letters>, CrossEntropy>> {};
struct Last : Sequential<Vector<positions>, Embedding<letters, 8, SendDense>, Gru<8>, LastPosition, Linear<letters>,
                         CrossEntropy> {};
struct Filled
    : Sequential<Vector<positions>, Embedding<letters, 8, SendDense, PadToken<3>>, Attention<2, Padded>, Gru<8>,
                 Branches<Plus, Path<LastValidPosition>, Path<MeanOverValidPositions>>, Linear<letters>, CrossEntropy> {
};

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
inline void near(std::vector<double> const& got, std::vector<double> const& wanted, double tolerance) {
  REQUIRE(got.size() == wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i)
    REQUIRE(got[i] == doctest::Approx(wanted[i]).epsilon(tolerance).scale(1));
}

}  // namespace sequences
