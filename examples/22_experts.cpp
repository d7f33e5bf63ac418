// 22_experts - a transformer whose dense layers are a mixture of experts, half of them on each of two ranks: `22_experts plays.txt`.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cleave.hpp>
#include <cleave/data/text_file.hpp>
#include <cleave/predict/generator.hpp>
#include <cleave/predict/routing.hpp>

#include <cstdio>
#include <cstdlib>

using namespace cleave;

constexpr int positions = 64, letters = 128, features = 128;
struct Block
    : Path<Residual<PerPosition<LayerNorm>, Attention<4, Causal>>,
           Residual<PerPosition<LayerNorm>, Experts<8, TopExperts<2>, Linear<2 * features>, Gelu, Linear<features>>>> {
};
struct Net : Sequential<Vector<positions>, Embedding<letters, features>, PositionEmbedding, Repeat<4, Block>,
                        PerPosition<LayerNorm, Linear<letters>, CrossEntropy>> {};
struct Decayed : AdamW {
  static constexpr float weight_decay = 0.1f, beta2 = 0.99f, clip_norm = 1;
  static constexpr ParameterGroup group(Parameter p) { return {.decay = p.is_matrix() ? 1.0f : 0.0f}; }
};
// Each rank has half of the samples, and four of the eight experts of each block: two all-to-alls a pass and block.
struct Train : Plan<Net, Batch<12>, DataParallel<Sync>, ModelParallel<SplitExperts, Ways<2>>, Decayed> {
  static constexpr Rate rate = Rate::cosine(0.001f).warm_up(100);
};

int main(int argc, char** argv) try {
  if (argc < 2) return std::fprintf(stderr, "usage: 22_experts TEXT [EPOCHS]\n"), 2;
  TextWindows<positions, letters> const text(argv[1]);
  auto const [training, test] = split(text, 0.1);  // the end of the text
  Trainer<Train> trainer;
  trainer.fit(training, test, {.epochs = argc > 2 ? std::atoi(argv[2]) : 2}, [](Epoch const& e) {
    std::printf("epoch %d: %ld steps, loss %.3f, held out %.3f\n", e.epoch, e.steps, e.loss, e.val_loss);
  });

  Routing const last = routing_of<3>(trainer, test);
  std::printf("in the last block %.1f %% of the choices are dropped; each expert takes", 100 * last.dropped_share());
  for (long n : last.taken) std::printf(" %.1f %%", 100.0 * static_cast<double>(n) / static_cast<double>(last.choices));
  std::printf("\n%s\n", sample_text(Generator<Net>(trainer), "ROMEO:", positions - 6, {.temperature = 0.8f}).c_str());
} catch (Error const& e) {
  std::fprintf(stderr, "22_experts: %s\n", e.what());
  return 2;
}
