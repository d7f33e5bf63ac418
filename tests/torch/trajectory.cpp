// torch/trajectory.cpp - trains models of sequences for 50 steps, for trajectory.py to do the same: DIR/<net>.<what>.safetensors.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cleave.hpp>
#include <cstdio>

using namespace cleave;

namespace {

constexpr int positions = 12, letters = 16, features = 8, batch = 6, steps = 50;

struct Lstms : Sequential<Vector<positions>, Embedding<letters, features>, Lstm<8>, Lstm<8>,
                          PerPosition<Linear<letters>, CrossEntropy>> {};
struct Grus
    : Sequential<Vector<positions>, Embedding<letters, features>, Gru<8>, LastPosition, Linear<letters>, CrossEntropy> {
};
struct Block : Path<Residual<PerPosition<LayerNorm>, Attention<2, Causal>>,
                    Residual<PerPosition<LayerNorm, Linear<4 * features>, Gelu, Linear<features>>>> {};
struct Gpt : Sequential<Vector<positions>, Embedding<letters, features>, Repeat<2, Block>,
                        PerPosition<LayerNorm, Linear<letters>, CrossEntropy>> {};
struct TiedGpt : Sequential<Vector<positions>, Embedding<letters, features, Tied>, Repeat<2, Block>,
                            PerPosition<LayerNorm, Linear<letters, NoBias, Tied>, CrossEntropy>> {};
template <class Net>
struct Train : Plan<Net, Batch<batch>, MicroBatches<3>, Precision<f64>, AdamW, DataParallel<Sync>> {
  static constexpr Rate rate = Rate::constant(0.01f);
};

/// The same numbers as in trajectory.py.
int token(long sample, long k) { return static_cast<int>((sample * 5 + k * k * 3 + sample * k) % letters); }
template <class P> backend::host::Feed feed() {
  return {nullptr,
          [](void const*, long step, long first, int count, float* out) {
            for (long s = step * batch + first, end = s + count; s < end; ++s)
              for (long k = 0; k < positions; ++k) *out++ = static_cast<float>(token(s, k));
          },
          [](void const*, long step, long first, int count, int* out) {
            constexpr int labels = P::schedule.labels;
            for (long s = step * batch + first, end = s + count; s < end; ++s)
              for (long k = positions - labels + 1; k <= positions; ++k) *out++ = token(s, k);
          }};
}

template <class Net> void show(std::string const& folder, std::string const& name, TorchNames const& names) {
  Trainer<Train<Net>> trainer(2, 5);
  trainer.save_torch(folder + "/" + name + ".before.safetensors", names);
  std::vector<double> const losses = trainer.train(0, steps, feed<Train<Net>>());
  trainer.save_torch(folder + "/" + name + ".after.safetensors", names);
  io::save_safetensors(folder + "/" + name + ".losses.safetensors",
                       {{"losses",
                         io::Dtype::F64,
                         {losses.size()},
                         {reinterpret_cast<unsigned char const*>(losses.data()), losses.size() * sizeof(double)}}});
}

}  // namespace

int main(int, char** argv) {
  std::string const to = argv[1];
  io::make_folder(to);
  show<Lstms>(to, "lstm", {{0, "words"}, {1, "first"}, {2, "second"}, {3, "last"}});
  show<Grus>(to, "gru", {{0, "words"}, {1, "first"}, {3, "last"}});
  TorchNames gpt{{0, "words"}};
  for (int b = 0; b < 2; ++b) {
    std::string const in = "blocks." + std::to_string(b) + ".";
    for (auto const& [layer, module] : TorchNames{{1, "ln_1"}, {2, "attn"}, {4, "ln_2"}, {5, "up"}, {7, "down"}})
      gpt.push_back({layer + 8 * b, in + module});
  }
  gpt.push_back({17, "norm"});
  gpt.push_back({18, "last"});
  show<Gpt>(to, "gpt", gpt);
  show<TiedGpt>(to, "tied", gpt);
  std::printf("written: %d steps of four nets\n", steps);
}
