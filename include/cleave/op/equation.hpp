// op/equation.hpp - an operation's equation in letters, x,w->y: "bi,io->bo". It determines all splits of the operation.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string_view>

namespace cleave::op {

/// `b` is the batch. A lower-case letter may be split over ranks; an upper-case one must be whole on each rank (a
/// window, a sum over all features). A final `*` means "and any further letters, element by element": "bo*,o->bo*".
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

/// The letter at dimension d of a tensor with a batch letter ("bchw": c is 0); '*' after the last.
constexpr char letter_at(std::string_view letters, int d) {
  auto const i = static_cast<std::size_t>(d) + (letters.empty() || letters[0] != 'b' ? 0u : 1u);
  return i < letters.size() ? letters[i] : letters.empty() || letters.back() != '*' ? '?' : '*';
}

/// The dimension of a letter, not counting the batch; -1 if the tensor does not have it.
constexpr int dim_of(std::string_view letters, char letter) {
  auto const i = letters.find(letter);
  if (i == std::string_view::npos) return -1;
  return static_cast<int>(i) - (letters[0] == 'b' ? 1 : 0);
}

constexpr bool has(std::string_view letters, char letter) { return letters.find(letter) != std::string_view::npos; }
constexpr bool may_cut(char letter) { return (letter >= 'a' && letter <= 'z') || letter == '*'; }

}  // namespace cleave::op
