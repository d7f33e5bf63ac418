// meta/text.hpp - texts joined of pieces by one function: a chain of std::string + is compiled anew at each place.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdio>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>

namespace cleave::meta {

/// Characters, which must outlive it, or a whole number in decimal digits.
class Piece {
 public:
  constexpr Piece(char const* text) : text_(text), of_(Form::Ended) {}
  constexpr Piece(std::string_view text) : text_(text.data()), number_(text.size()) {}
  constexpr Piece(std::string const& text) : text_(text.data()), number_(text.size()) {}
  template <std::integral Number>
  requires(!std::same_as<Number, bool> && !std::same_as<Number, char>) constexpr Piece(Number n)
      : number_(static_cast<unsigned long long>(n)), of_(std::is_signed_v<Number> ? Form::Signed : Form::Unsigned) {}

  void append_to(std::string& out) const {
    if (of_ == Form::Ended) {
      out += text_;
    } else if (of_ == Form::Counted) {
      out.append(text_, number_);
    } else {
      char digits[24];
      auto const end = of_ == Form::Signed
                           ? std::to_chars(digits, digits + sizeof digits, static_cast<long long>(number_))
                           : std::to_chars(digits, digits + sizeof digits, number_);
      out.append(digits, end.ptr);
    }
  }

 private:
  enum class Form : unsigned char { Counted, Ended, Signed, Unsigned };
  char const* text_ = nullptr;
  unsigned long long number_ = 0;  // of characters, or the number itself
  Form of_ = Form::Counted;
};
using Pieces = std::initializer_list<Piece>;

/// Appends the pieces, none of which may be of `out`.
[[gnu::noinline]] inline void append(std::string& out, Pieces pieces) {
  for (Piece const& p : pieces) p.append_to(out);
}
/// The pieces one behind the other: joined({"rank ", 3, ": ", path}).
[[gnu::noinline]] inline std::string joined(Pieces pieces) {
  std::string out;
  append(out, pieces);
  return out;
}

/// A number as text: at most `digits` significant ones, no trailing zeros.
inline std::string short_number(double value, int digits = 6) {
  char buffer[32];
  int const size = std::snprintf(buffer, sizeof buffer, "%.*g", digits, value);
  return {buffer, static_cast<std::size_t>(size)};
}

}  // namespace cleave::meta
