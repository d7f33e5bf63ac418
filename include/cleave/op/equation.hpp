// op/equation.hpp - an operation's equation in letters, x,w->y: "bi,io->bo". It determines all splits of the operation.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <string_view>

namespace cleave::op {

/// The letters of a tensor's dimensions, outermost first. `b` is the batch: dimension 0 of every tensor that has one.
/// A lower-case letter or a digit may be split over ranks; an upper-case one must be whole on each rank (a window, a
/// sum over all features).
struct Subscripts {
  static constexpr int most = 6;
  char at[most]{};
  int count = 0;

  constexpr Subscripts() = default;
  /// Of a tensor with `dims` dimensions. A final `*` stands for those without a letter: they get their number as one.
  constexpr explicit Subscripts(std::string_view text, int dims = 0) {
    for (char const letter : text) {
      if (letter != '*') at[count++] = letter;
    }
    while (!text.empty() && text.back() == '*' && count < dims) {
      at[count] = static_cast<char>('0' + count);
      ++count;
    }
  }
  /// No letter behind the last one: a product takes its input's further dimensions together.
  constexpr char operator[](int d) const { return d < count ? at[d] : '\0'; }
  /// -1 if the tensor does not have the letter.
  constexpr int dim(char letter) const {
    int d = count - 1;
    while (d >= 0 && at[d] != letter) --d;
    return d;
  }
  constexpr bool has(char letter) const { return dim(letter) >= 0; }
  /// The number of dimensions that a Shape, which is of one sample, does not have.
  constexpr int beyond_shape() const { return at[0] == 'b'; }
  friend constexpr bool operator==(Subscripts const&, Subscripts const&) = default;
};

constexpr bool may_cut(char letter) { return (letter >= 'a' && letter <= 'z') || (letter >= '0' && letter <= '9'); }

/// The parts of an equation as text: inputs, then the weights' letters if there are weights, then the output. A second
/// input that is not given has the letters of the first.
struct Equation {
  std::string_view x, x2, w, y;

  constexpr Equation(std::string_view text, bool weights) {
    std::size_t const arrow = first(text, '-');
    y = text.substr(arrow + 2);
    text = text.substr(0, arrow);
    std::size_t comma = text.size();  // the last
    for (std::size_t i = 0; i < text.size(); ++i) comma = text[i] == ',' ? i : comma;
    if (weights && comma < text.size()) {
      w = text.substr(comma + 1);
      text = text.substr(0, comma);
    }
    std::size_t const second = first(text, ',');
    x = text.substr(0, second);
    x2 = second == text.size() ? x : text.substr(second + 1);
  }

 private:
  /// The size if there is none. Not `find`, which g++ 12 cannot evaluate under -fsanitize=undefined.
  static constexpr std::size_t first(std::string_view in, char c) {
    std::size_t i = 0;
    while (i < in.size() && in[i] != c) ++i;
    return i;
  }
};

}  // namespace cleave::op
