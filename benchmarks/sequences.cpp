// benchmarks/sequences.cpp - milliseconds of a training step of models of text, on 1 and on 2 threads: `sequences gpt 2`.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// sequences_torch.py runs this in turns with the same nets in PyTorch.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include <cleave.hpp>

namespace {

using namespace cleave;

constexpr int positions = 64, letters = 65, features = 128;
struct Block : Path<Residual<PerPosition<LayerNorm>, Attention<4, Causal>>,
                    Residual<PerPosition<LayerNorm, Linear<4 * features>, Gelu, Linear<features>>>> {};
struct Gpt : Sequential<Vector<positions>, Embedding<letters, features>, PositionEmbedding, Repeat<4, Block>,
                        PerPosition<LayerNorm, Linear<letters>, CrossEntropy>> {};
struct Cells : Sequential<Vector<positions>, Embedding<letters, features>, Lstm<features>, Lstm<features>,
                          PerPosition<Linear<letters>, CrossEntropy>> {};
struct TrainGpt : Plan<Gpt, Batch<12>, DataParallel<Sync>, AdamW> {};
struct TrainCells : Plan<Cells, Batch<32>, DataParallel<Sync>, AdamW> {};

template <class P> backend::host::Feed feed() {
  return {nullptr,
          [](void const*, long step, long first, int count, float* out) {
            for (long i = 0; i < count * positions; ++i)
              *out++ = static_cast<float>((step + first * 31 + i * 7) % letters);
          },
          [](void const*, long step, long first, int count, int* out) {
            for (long i = 0; i < count * positions; ++i)
              *out++ = static_cast<int>((step + first * 31 + i * 7 + 7) % letters);
          }};
}

/// The fastest of the steps of one second.
template <class P> double milliseconds(int threads) {
  Trainer<P> trainer(threads);
  using Clock = std::chrono::steady_clock;
  double best = 1e300;
  trainer.train(0, 3, feed<P>());
  auto const end = Clock::now() + std::chrono::seconds(1);
  for (long step = 3; Clock::now() < end; ++step) {
    auto const from = Clock::now();
    trainer.train(step, 1, feed<P>());
    best = std::min(best, std::chrono::duration<double, std::milli>(Clock::now() - from).count());
  }
  return best;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return std::fprintf(stderr, "usage: sequences gpt|lstm THREADS\n"), 2;
  int const threads = std::atoi(argv[2]);
  std::printf("%.3f\n",
              std::string_view(argv[1]) == "gpt" ? milliseconds<TrainGpt>(threads) : milliseconds<TrainCells>(threads));
}
