// 18_gpt - a small transformer that learns to write like a text, a character at a time: `18_gpt plays.txt`.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cleave.hpp>
#include <cleave/data/text_file.hpp>
#include <cleave/predict/sample_text.hpp>

#include <cstdio>
#include <cstdlib>

using namespace cleave;

constexpr int positions = 64, letters = 128, features = 128;
struct Block : Path<Residual<PerPosition<LayerNorm>, Attention<4, Causal>>,
                    Residual<PerPosition<LayerNorm, Linear<4 * features>, Gelu, Linear<features>>>> {};
struct Net : Sequential<Vector<positions>, Embedding<letters, features>, PositionEmbedding, Repeat<4, Block>,
                        PerPosition<LayerNorm, Linear<letters>, CrossEntropy>> {};
struct Decayed : AdamW {
  static constexpr float weight_decay = 0.1f, beta2 = 0.99f, clip_norm = 1;
  static constexpr ParameterGroup group(Parameter p) { return {.decay = p.is_matrix() ? 1.0f : 0.0f}; }
};
struct Train : Plan<Net, Batch<12>, DataParallel<Sync>, Decayed> {
  static constexpr Rate rate = Rate::cosine(0.001f).warm_up(100);
};

int main(int argc, char** argv) try {
  if (argc < 2) return std::fprintf(stderr, "usage: 18_gpt TEXT [EPOCHS]\n"), 2;
  TextWindows<positions, letters> const text(argv[1]);
  auto const [training, test] = split(text, 0.1);  // the end of the text
  Trainer<Train> trainer;
  trainer.fit(training, test, {.epochs = argc > 2 ? std::atoi(argv[2]) : 2}, [](Epoch const& e) {
    std::printf("epoch %d: %ld steps, loss %.3f, held out %.3f\n", e.epoch, e.steps, e.loss, e.val_loss);
  });

  std::string const written = sample_text(trainer.predictor(), "ROMEO:", 400, {.temperature = 0.8f});
  std::printf("%s\n", written.c_str());
} catch (Error const& e) {
  std::fprintf(stderr, "18_gpt: %s\n", e.what());
  return 2;
}
