// op/equation.hpp - an operation in letters, x,w->y: "bi,io->bo". Which letters it has decides every way to cut it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string_view>

namespace cleave::op {

/// `b` is the batch. A lower-case letter may be cut over ranks; an upper-case one must be whole on each rank (a window,
/// a sum over all features). A final `*` stands for "and any further letters, element by element": "bo*,o->bo*".
struct Equation {
  std::string_view x, w, y;

  constexpr Equation(std::string_view text) {
    auto const arrow = text.find("->");
    auto const comma = text.find(',');
    y = text.substr(arrow + 2);
    x = text.substr(0, comma < arrow ? comma : arrow);
    w = comma < arrow ? text.substr(comma + 1, arrow - comma - 1) : std::string_view{};
  }
  constexpr Equation(char const* text) : Equation(std::string_view(text)) {}
};

/// The letter at dimension d of a tensor with a batch letter ("bchw": c is 0); '*' past the last.
constexpr char letter_at(std::string_view letters, int d) {
  auto const i = static_cast<std::size_t>(d) + (letters.empty() || letters[0] != 'b' ? 0u : 1u);
  return i < letters.size() ? letters[i] : letters.empty() || letters.back() != '*' ? '?' : '*';
}

/// The dimension of a letter, the batch not counted; -1 when it is not there.
constexpr int dim_of(std::string_view letters, char letter) {
  auto const i = letters.find(letter);
  if (i == std::string_view::npos) return -1;
  return static_cast<int>(i) - (letters[0] == 'b' ? 1 : 0);
}

constexpr bool has(std::string_view letters, char letter) { return letters.find(letter) != std::string_view::npos; }
constexpr bool may_cut(char letter) { return (letter >= 'a' && letter <= 'z') || letter == '*'; }

}  // namespace cleave::op
