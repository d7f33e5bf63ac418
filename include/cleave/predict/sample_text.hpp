// predict/sample_text.hpp - sample_text, sample_tokens: a text that a trained model goes on with, token by token.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "../data/dataset.hpp"
#include "../meta/error.hpp"

namespace cleave {

/// How the next token is drawn: `sample_text(predict, "ROMEO:", 400, {.temperature = 0.8f, .top_k = 20})`.
struct SampleOptions {
  float temperature = 1;   ///< outputs are divided by it; 0: always the likeliest token
  int top_k = 0;           ///< only the k likeliest tokens are drawn; 0: all
  std::uint64_t seed = 1;  ///< the same seed draws the same tokens
};

namespace session {

inline void check_sampling(std::span<int const> prompt, int count, SampleOptions const& how, int vocabulary) {
  if (!(how.temperature >= 0) || how.top_k < 0)
    throw Error({"sample: a temperature of ", std::to_string(how.temperature), " and top_k ", how.top_k,
                 "; both are at least 0"});
  if (count < 0) throw Error({"sample: ", count, " tokens; say at least 0"});
  if (prompt.empty()) throw Error("sample: the prompt is empty; give at least one token");
  for (int const token : prompt) {
    if (token < 0 || token >= vocabulary)
      throw Error({"sample: the prompt has token ", token, ", but the model has tokens 0 to ", vocabulary - 1});
  }
}

/// The number of a token, drawn from the softmax of outputs / temperature; `u` is uniform in [0, 1).
inline int drawn(std::span<float const> outputs, SampleOptions const& how, float u) {
  auto const top = std::max_element(outputs.begin(), outputs.end());
  if (std::any_of(outputs.begin(), outputs.end(), [](float v) { return v != v; }))
    throw Error("sample: an output of the model is no number; its weights have diverged");
  if (how.temperature == 0) return static_cast<int>(top - outputs.begin());
  float least = -std::numeric_limits<float>::infinity();
  if (how.top_k > 0 && static_cast<std::size_t>(how.top_k) < outputs.size()) {
    std::vector<float> sorted(outputs.begin(), outputs.end());
    std::nth_element(sorted.begin(), sorted.begin() + how.top_k - 1, sorted.end(), std::greater<>());
    least = sorted[static_cast<std::size_t>(how.top_k) - 1];
  }
  std::vector<float> weight;
  float sum = 0;
  for (float const v : outputs) sum += weight.emplace_back(v < least ? 0 : std::exp((v - *top) / how.temperature));
  float rest = u * sum;
  int last = 0;
  for (std::size_t i = 0; i < weight.size(); ++i) {
    if (weight[i] == 0) continue;
    last = static_cast<int>(i);
    if (rest < weight[i]) break;
    rest -= weight[i];
  }
  return last;
}

}  // namespace session

/// `count` tokens that follow `prompt`, without it. `predict` is a Predictor of a model that reads tokens, Vector<T>,
/// and ends with CrossEntropy of each position, where no position sees those behind it (causal attention, recurrent
/// layers), or of what comes after all T. The model sees the last T tokens; before a prompt that is shorter, the second
/// kind sees tokens 0. It computes all T positions for each token. Throws Error if the prompt is empty or holds no
/// token, or if an option is out of range.
template <class Predict>
std::vector<int> sample_tokens(Predict&& predict, std::span<int const> prompt, int count,
                               SampleOptions const& how = {}) {
  using Of = std::remove_cvref_t<Predict>;
  constexpr auto places = static_cast<std::size_t>(Of::inputs), width = static_cast<std::size_t>(Of::width);
  constexpr bool each = Of::outputs == Of::inputs * Of::width;
  static_assert(each || Of::outputs == Of::width, "sample_tokens: the model compares each of its positions, or one");
  static_assert(Of::width <= Of::vocabulary, "sample_tokens: the model draws more tokens than it reads");
  session::check_sampling(prompt, count, how, Of::vocabulary);
  std::vector<int> all(prompt.begin(), prompt.end());
  std::vector<float> window(places);
  for (int i = 0; i < count; ++i) {
    std::size_t const seen = std::min(all.size(), places), before = each ? 0 : places - seen;
    std::fill(window.begin(), window.end(), 0.0f);
    std::transform(all.end() - static_cast<std::ptrdiff_t>(seen), all.end(),
                   window.begin() + static_cast<std::ptrdiff_t>(before), [](int v) { return static_cast<float>(v); });
    std::vector<float> const y = predict(window);
    std::span<float const> const next = std::span(y).subspan(each ? (seen - 1) * width : 0, width);
    Draw const draw{.seed = how.seed, .sample = static_cast<std::uint64_t>(i)};
    all.push_back(session::drawn(next, how, draw.uniform(0)));
  }
  return {all.begin() + static_cast<std::ptrdiff_t>(prompt.size()), all.end()};
}

/// Of a model whose tokens are bytes (text_file.hpp): the prompt, and `count` bytes that follow it.
template <class Predict>
std::string sample_text(Predict&& predict, std::string_view prompt, int count, SampleOptions const& how = {}) {
  std::vector<int> tokens;
  for (char const c : prompt) tokens.push_back(static_cast<unsigned char>(c));
  std::string text(prompt);
  for (int const token : sample_tokens(predict, tokens, count, how)) text += static_cast<char>(token);
  return text;
}

}  // namespace cleave
