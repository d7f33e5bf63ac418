// 20_gpt2 - GPT-2, 124 million weights, continues a text: `20_gpt2 --weights gpt2/model.safetensors --prompt "The dog is"`.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cleave.hpp>
#include <cleave/data/byte_pairs.hpp>
#include <cleave/predict/generator.hpp>
#include <cleave/predict/published_weights.hpp>

#include <cstdio>
#include <filesystem>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

using namespace cleave;

constexpr int positions = 1024, tokens = 50257, features = 768;
struct Block : Path<Residual<PerPosition<LayerNorm>, Attention<12, Causal>>,
                    Residual<PerPosition<LayerNorm, Linear<4 * features>, GeluTanh, Linear<features>>>> {};
struct Gpt2 : Sequential<Vector<positions>, Embedding<tokens, features, Tied>, PositionEmbedding, Repeat<12, Block>,
                         PerPosition<LayerNorm, Linear<tokens, NoBias, Tied>, CrossEntropy>> {};

/// That of vocab.json and merges.txt beside the weights, or of tokenizer.json; none if they are not there.
std::optional<BytePairTokenizer> tokenizer_beside(std::string const& weights) {
  auto const file = [&](char const* name) { return std::filesystem::path(weights).replace_filename(name).string(); };
  std::optional<BytePairTokenizer> tokenizer;
  if (io::exists(file("vocab.json")) && io::exists(file("merges.txt")))
    tokenizer.emplace(file("vocab.json"), file("merges.txt"));
  else if (io::exists(file("tokenizer.json")))
    tokenizer.emplace(file("tokenizer.json"));
  if (tokenizer && tokenizer->vocabulary() != tokens)
    throw Error({"the tokenizer beside ", weights, " has ", tokenizer->vocabulary(), " tokens, but GPT-2 has ", tokens,
                 "; take all files from one model"});
  return tokenizer;
}
/// Of a prompt such as "464 3290 318".
std::vector<int> numbers(std::string const& prompt) {
  std::istringstream words(prompt);
  std::vector<int> out;
  for (std::string word; words >> word; out.push_back(std::stoi(word))) {
    if (word.size() > 9 || word.find_first_not_of("0123456789") != std::string::npos)
      throw Error({"--prompt: '", word,
                   "' is no number of a token, and no vocab.json and merges.txt, or tokenizer.json, "
                   "are beside the weights; put them there, or give numbers, as '464 3290 318'"});
  }
  return out;
}

int main(int argc, char** argv) try {
  io::Options options("20_gpt2", "GPT-2 continues a text.");
  std::string const& weights = options.text("weights", "gpt2/model.safetensors", "the published file");
  std::string const& prompt =
      options.text("prompt", "The dog is", "a text; numbers of tokens if no tokenizer is beside the weights");
  int const& count = options.number("count", 20, 1, positions, "tokens to draw");
  double const& temperature =
      options.real("temperature", 0.8, 0, 100, "outputs are divided by it; 0: always the likeliest");
  int const& top_k = options.number("top-k", 40, 0, tokens, "only the k likeliest tokens are drawn; 0: all");
  int const& seed = options.number("seed", 1, 0, 1000000, "the same seed draws the same tokens");
  if (!options.parse(argc, argv)) return 0;

  if (!io::exists(weights)) throw Error({weights, ": cannot open this file; name GPT-2's weights by --weights"});
  std::optional<BytePairTokenizer> const tokenizer = tokenizer_beside(weights);
  std::vector<int> const before = tokenizer ? tokenizer->encode(prompt) : numbers(prompt);
  import_weights<Gpt2>(weights, "20_gpt2.safetensors", gpt2_names());
  Generator<Gpt2> generate("20_gpt2.safetensors");
  std::vector<int> const drawn = sample_tokens(
      generate, before, count,
      {.temperature = static_cast<float>(temperature), .top_k = top_k, .seed = static_cast<std::uint64_t>(seed)});
  if (tokenizer) {
    std::printf("%s%s\n", prompt.c_str(), tokenizer->decode(drawn).c_str());
  } else {
    for (int const token : drawn) std::printf("%d ", token);
    std::printf("\n");
  }
} catch (Error const& e) {
  std::fprintf(stderr, "20_gpt2: %s\n", e.what());
  return 2;
}
