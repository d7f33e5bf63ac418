// data/text_split.hpp - a text as the words that a tokenizer of byte pairs merges within, as GPT-2 and Llama 3 cut it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "../io/json_line.hpp"
#include "unicode_classes.hpp"

namespace cleave::session {

/// The published regular expressions, of which the first part that matches is taken.
enum class TextSplit { Gpt2, Llama3 };
inline constexpr std::string_view gpt2_split =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
inline constexpr std::string_view llama3_split =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

/// A character of UTF-8. A byte that begins none is one by itself, of class Other. At the end: 0 bytes.
struct TextCharacter {
  char32_t point = 0;
  std::size_t bytes = 0;
  UnicodeClass of = UnicodeClass::Other;
};

inline constexpr std::array<UnicodeClass, 128> ascii_classes = [] {
  std::array<UnicodeClass, 128> classes{};
  for (char32_t point = 0; point < 128; ++point) classes[point] = unicode_class(point);
  return classes;
}();

inline TextCharacter character_at(std::string_view text, std::size_t at) {
  if (at >= text.size()) return {};
  auto const byte = [&](std::size_t i) { return static_cast<char32_t>(static_cast<unsigned char>(text[at + i])); };
  if (byte(0) < 0x80) return {byte(0), 1, ascii_classes[byte(0)]};
  std::size_t const bytes = io::utf8_length(text.substr(at, 4));
  if (bytes == 0) return {0xFFFD, 1, UnicodeClass::Other};
  char32_t point = byte(0) & (0x7FU >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) point = point << 6 | (byte(i) & 0x3FU);
  return {point, bytes, unicode_class(point)};
}

inline bool ends_line(TextCharacter const& c) { return c.bytes == 1 && (c.point == '\n' || c.point == '\r'); }

/// Where the characters of class `of` end that are at `at`, or the first `most` of them.
inline std::size_t end_of_run(std::string_view text, std::size_t at, UnicodeClass of, std::size_t most = 0) {
  TextCharacter c = character_at(text, at);
  for (std::size_t count = 1; c.bytes > 0 && c.of == of; ++count) {
    at += c.bytes;
    if (count == most) break;
    c = character_at(text, at);
  }
  return at;
}

/// Bytes of 's, 't, 're, 've, 'm, 'll, 'd at the beginning of `text`, or 0. Capitals count if `any_case`, and then the
/// long s, U+017F, is an s.
inline std::size_t contraction(std::string_view text, bool any_case) {
  auto const letter = [&](std::size_t i) {
    char const c = i < text.size() ? text[i] : '\0';
    return any_case && c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
  };
  if (letter(0) != '\'') return 0;
  char const first = letter(1), second = letter(2);
  if (first == 's' || first == 't' || first == 'm' || first == 'd') return 2;
  if ((first == 'r' && second == 'e') || (first == 'v' && second == 'e') || (first == 'l' && second == 'l')) return 3;
  return any_case && text.substr(1, 2) == "\xC5\xBF" ? 3 : 0;
}

/// Of white space up to `end`: without its last character where another follows, which then begins the next word.
inline std::size_t end_of_space(std::string_view text, std::size_t end) {
  if (end == text.size()) return end;
  std::size_t last = end - 1;
  while (last > 0 && (static_cast<unsigned char>(text[last]) & 0xC0U) == 0x80U) --last;
  return last == 0 ? end : last;
}

inline std::size_t first_word_gpt2(std::string_view text) {
  if (std::size_t const bytes = contraction(text, false); bytes > 0) return bytes;
  std::size_t const from = text[0] == ' ' ? 1 : 0;
  TextCharacter const c = character_at(text, from);
  if (c.bytes > 0 && c.of != UnicodeClass::Space) return end_of_run(text, from, c.of);
  return end_of_space(text, end_of_run(text, 0, UnicodeClass::Space));
}

inline std::size_t first_word_llama3(std::string_view text) {
  if (std::size_t const bytes = contraction(text, true); bytes > 0) return bytes;
  TextCharacter const c = character_at(text, 0), next = character_at(text, c.bytes);
  if (c.of == UnicodeClass::Number) return end_of_run(text, 0, c.of, 3);
  if (c.of == UnicodeClass::Letter) return end_of_run(text, 0, c.of);
  if (next.bytes > 0 && next.of == UnicodeClass::Letter && !ends_line(c)) return end_of_run(text, c.bytes, next.of);
  std::size_t const from = c.point == ' ' && next.bytes > 0 ? 1 : 0;
  if ((from == 0 ? c : next).of == UnicodeClass::Other) {
    std::size_t end = end_of_run(text, from, UnicodeClass::Other);
    while (ends_line(character_at(text, end))) ++end;
    return end;
  }
  std::size_t const end = end_of_run(text, 0, UnicodeClass::Space), line = text.substr(0, end).find_last_of("\r\n");
  return line != std::string_view::npos ? line + 1 : end_of_space(text, end);
}

/// Bytes of the first word of a text that is not empty: at least 1.
inline std::size_t first_word(std::string_view text, TextSplit split) {
  return split == TextSplit::Gpt2 ? first_word_gpt2(text) : first_word_llama3(text);
}

}  // namespace cleave::session
