// predict/outputs.hpp - what the outputs of a model mean: probabilities, classes, names.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "../data/token_inputs.hpp"
#include "../meta/error.hpp"
#include "laws.hpp"

namespace cleave::session {

/// Of samples of `inputs` numbers each. Throws Error if x is no whole number of them.
inline std::size_t samples_of(std::span<float const> x, long inputs) {
  if (x.size() % static_cast<std::size_t>(inputs) != 0)
    throw Error({"predict: ", x.size(), " numbers are no whole number of samples of ", inputs});
  return x.size() / static_cast<std::size_t>(inputs);
}

/// Throws Error if what an Embedding reads of x (n, inputs) is no token of its vocabulary.
inline void check_tokens(std::span<float const> x, long inputs, TokenInputs const& tokens) {
  auto const each = static_cast<std::size_t>(inputs);
  for (std::size_t i = 0; tokens.any() && i < x.size() / each; ++i) {
    std::string const wrong = what_is_wrong(tokens, &x[i * each], inputs, false);
    if (!wrong.empty()) throw Error({"predict: sample ", i, ": ", wrong});
  }
}

/// Of y (n, outputs), in rows of `width`. Throws Error if an output is not a number or above `most`: of such a row
/// there is no class, and no probability.
inline void check_outputs(std::span<float const> y, long outputs, long width, float most) {
  for (std::size_t i = 0; i < y.size(); ++i) {
    if (y[i] <= most) continue;
    auto const all = static_cast<std::size_t>(outputs), row = static_cast<std::size_t>(width);
    std::string position;
    if (row < all) position = "position " + std::to_string(i % all / row) + ", ";
    throw Error({"predict: sample ", i / all, ": ", position, "output ", i % row, " is ",
                 std::isnan(y[i]) ? "not a number" : "infinite",
                 "; look for inputs of this sample that are not finite or very large"});
  }
}

/// Of outputs (n, outputs), (n, outputs): the softmax of each row of `width` for CrossEntropy, the sigmoid of each for
/// BinaryCrossEntropy.
template <class Net> std::vector<float> probabilities_of(std::vector<float> p, long outputs, long width) {
  using law = law_of_probabilities<Net>;
  static_assert(sizeof(typename law::template tell<law::holds>) > 0);
  if constexpr (loss_of<Net>::loss_target == op::Target::Shares) {
    check_outputs(p, outputs, width, std::numeric_limits<float>::infinity());
    for (float& v : p) v = 1 / (1 + std::exp(-v));
  } else {
    check_outputs(p, outputs, width, std::numeric_limits<float>::max());
    for (auto at = p.begin(); at != p.end(); at += width) {
      float const top = *std::max_element(at, at + width);
      float sum = 0;
      for (auto v = at; v != at + width; ++v) sum += * v = std::exp(*v - top);
      for (auto v = at; v != at + width; ++v) *v /= sum;
    }
  }
  return p;
}
/// Of y (n, outputs), in rows of `width`: the number of each row's largest output.
inline std::vector<int> largest_of(std::span<float const> y, long outputs, long width) {
  check_outputs(y, outputs, width, std::numeric_limits<float>::infinity());
  std::vector<int> c;
  for (auto at = y.begin(); at != y.end(); at += width)
    c.push_back(static_cast<int>(std::max_element(at, at + width) - at));
  return c;
}
template <class Net> std::vector<int> classes_of(std::vector<float> const& y, long outputs, long width) {
  using law = law_of_classes<Net>;
  static_assert(sizeof(typename law::template tell<law::holds>) > 0);
  return largest_of(y, outputs, width);
}
/// Throws Error if a class has no name.
inline std::vector<std::string> names_of(std::vector<int> const& classes, std::vector<std::string> const& names) {
  std::vector<std::string> out;
  for (int c : classes) {
    if (static_cast<std::size_t>(c) >= names.size())
      throw Error({"predict: class ", c, ", but the checkpoint has ", names.size(), " class names; ask classes()"});
    out.push_back(names[static_cast<std::size_t>(c)]);
  }
  return out;
}

}  // namespace cleave::session
