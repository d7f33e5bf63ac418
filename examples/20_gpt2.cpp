// 20_gpt2 - GPT-2, 124 million weights, generates tokens after a prompt: `20_gpt2 model.safetensors 20 464 3290 318`.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cleave.hpp>
#include <cleave/predict/generator.hpp>
#include <cleave/predict/published_weights.hpp>

#include <cstdio>
#include <cstdlib>

using namespace cleave;

constexpr int positions = 1024, tokens = 50257, features = 768;
struct Block : Path<Residual<PerPosition<LayerNorm>, Attention<12, Causal>>,
                    Residual<PerPosition<LayerNorm, Linear<4 * features>, GeluTanh, Linear<features>>>> {};
struct Gpt2 : Sequential<Vector<positions>, Embedding<tokens, features, Tied>, PositionEmbedding, Repeat<12, Block>,
                         PerPosition<LayerNorm, Linear<tokens, NoBias, Tied>, CrossEntropy>> {};

int main(int argc, char** argv) try {
  if (argc < 4) return std::fprintf(stderr, "usage: 20_gpt2 FILE COUNT TOKEN ...\n"), 2;
  import_weights<Gpt2>(argv[1], "gpt2.safetensors", gpt2_names());
  Generator<Gpt2> generate("gpt2.safetensors");
  std::vector<int> prompt;
  for (int i = 3; i < argc; ++i) prompt.push_back(std::atoi(argv[i]));
  for (int const token : sample_tokens(generate, prompt, std::atoi(argv[2]), {.temperature = 0.8f, .top_k = 40}))
    std::printf("%d ", token);
  std::printf("\n");
} catch (Error const& e) {
  std::fprintf(stderr, "20_gpt2: %s\n", e.what());
  return 2;
}
