// io/json_line.hpp - JSON with one object a line, the form of all logs and records here.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <charconv>
#include <cleave/meta/in_library.hpp>
#include <cleave/meta/text.hpp>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>

namespace cleave::io {

/// Bytes taken by the UTF-8 character that `text` begins with, 1 to 4; 0 when it is not one (overlong forms,
/// surrogates, code points past U+10FFFF and cut characters are not).
inline std::size_t utf8_length(std::string_view text) {
  auto const byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
  auto const more = [&](std::size_t i) { return (byte(i) & 0xC0U) == 0x80U; };
  unsigned const lead = byte(0);
  if (text.empty()) return 0;
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead <= 0xDF) return more(1) ? 2 : 0;
  unsigned const point = (byte(1) & 0x3FU) << 6 | (byte(2) & 0x3FU);
  if ((lead & 0xF0U) == 0xE0U) {
    unsigned const full = (lead & 0x0FU) << 12 | point;
    bool const legal = more(1) && more(2) && full >= 0x800 && (full < 0xD800 || full > 0xDFFF);
    return legal ? 3 : 0;
  }
  if (lead < 0xF0 || lead > 0xF4 || !more(1) || !more(2) || !more(3)) return 0;
  unsigned const full = (lead & 0x07U) << 18 | point << 6 | (byte(3) & 0x3FU);
  return full >= 0x10000 && full <= 0x10FFFF ? 4 : 0;
}

inline bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    std::size_t const length = utf8_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

/// `text` as a JSON string with its quotes. A byte that is no UTF-8 becomes U+FFFD: a log line is never lost for it.
CLEAVE_IN_LIBRARY std::string quote(std::string_view text) {
  std::string out = "\"";
  while (!text.empty()) {
    std::size_t const length = utf8_length(text);
    char const first = text[0];
    if (length == 0) {
      out += "\xEF\xBF\xBD";
    } else if (first == '"' || first == '\\') {
      (out += '\\') += first;
    } else if (first == '\n') {
      out += "\\n";
    } else if (first == '\t') {
      out += "\\t";
    } else if (length == 1 && first < 0x20) {
      (((out += "\\u00") += first < 0x10 ? '0' : '1')) += "0123456789abcdef"[first & 15];
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return out += '"';
}

/// The shortest text that reads back as the same number; "null" for infinities and NaN, which JSON lacks.
template <typename Number>
requires std::integral<Number> || std::floating_point<Number> std::string number_text(Number value) {
  if constexpr (std::floating_point<Number>) {
    if (!std::isfinite(value)) return "null";
  }
  char buffer[64];
  return {buffer, std::to_chars(buffer, buffer + sizeof buffer, value).ptr};
}

/// One JSON object on one line: `JsonLine().add("step", 3).add("loss", 0.5).text()` is {"step":3,"loss":0.5}.
class JsonLine {
 public:
  template <std::floating_point Number> [[gnu::noinline]] JsonLine& add(std::string_view name, Number value) {
    return add_raw(name, number_text(value));
  }
  template <std::integral Number> JsonLine& add(std::string_view name, Number value) { return add_whole(name, value); }
  JsonLine& add(std::string_view name, bool value) { return add_raw(name, value ? "true" : "false"); }
  [[gnu::noinline]] JsonLine& add(std::string_view name, std::string_view value) { return add_raw(name, quote(value)); }
  // Without this overload a literal would be converted to bool rather than string_view.
  JsonLine& add(std::string_view name, char const* value) { return add(name, std::string_view(value)); }
  JsonLine& add(std::string_view name, JsonLine const& object) { return add_raw(name, object.text()); }

  /// Adds `json` unchanged: for lists and for numbers formatted elsewhere.
  [[gnu::noinline]] JsonLine& add_raw(std::string_view name, std::string_view json) {
    meta::append(members_, {members_.empty() ? "" : ",", quote(name), ":", json});
    return *this;
  }

  /// The object, without a line end.
  [[gnu::noinline]] std::string text() const { return meta::joined({"{", members_, "}"}); }

 private:
  [[gnu::noinline]] JsonLine& add_whole(std::string_view name, meta::Piece number) {
    return add_raw(name, meta::joined({number}));
  }

  std::string members_;
};

}  // namespace cleave::io
