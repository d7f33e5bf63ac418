// io/json.hpp - a strict JSON reader for what may come from anywhere; json_line.hpp, included here, writes.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <charconv>
#include <cleave/io/json_line.hpp>
#include <cleave/meta/error.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace cleave::io {

/// One JSON value and all below it; `kind` says which of the members count.
struct Json {
  enum class Kind { Null, Bool, Number, String, Array, Object };

  Kind kind = Kind::Null;
  bool boolean = false;
  double number = 0;
  std::optional<std::int64_t> whole;     ///< Exact, when written without fraction or exponent and it fits.
  std::optional<std::uint64_t> natural;  ///< The same for 0 to 2^64-1.
  std::string string;
  std::vector<std::string> names;  ///< Object: its keys in the order written; names[i] belongs to items[i].
  std::vector<Json> items;         ///< Array or object: the values.

  bool is(Kind asked) const { return kind == asked; }

  /// The value under a key of an object; null when there is none.
  Json const* find(std::string_view name) const {
    auto const at = std::find(names.begin(), names.end(), name);
    return at == names.end() ? nullptr : &items[static_cast<std::size_t>(at - names.begin())];
  }
};

/// Reads one JSON text by RFC 8259 and refuses whatever it leaves open: duplicate keys, text that is no UTF-8, lone
/// surrogates, numbers no double can hold, and nesting deeper than 64.
class JsonReader {
 public:
  JsonReader(std::string_view text, std::string source) : text_(text), source_(std::move(source)) {}

  Json read() {
    Json value = read_value(0);
    skip_space();
    if (at_ != text_.size()) fail("more text after the end of the value");
    return value;
  }

 private:
  static constexpr int depth_limit = 64;

  [[noreturn]] void fail(std::string const& what) const {
    throw Error(source_ + ": not valid JSON: " + what + " at byte " + std::to_string(at_));
  }

  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }

  bool take(char expected) {
    bool const there = at_ < text_.size() && text_[at_] == expected;
    if (there) ++at_;
    return there;
  }

  void skip_space() { at_ = std::min(text_.find_first_not_of(" \t\n\r", at_), text_.size()); }

  Json read_value(int depth) {
    if (depth > depth_limit) fail("nesting deeper than " + std::to_string(depth_limit));
    skip_space();
    Json value;
    if (take('{')) {
      value.kind = Json::Kind::Object;
      read_object(value, depth);
    } else if (take('[')) {
      value.kind = Json::Kind::Array;
      read_array(value, depth);
    } else if (take('"')) {
      value.kind = Json::Kind::String;
      value.string = read_string();
    } else if (peek() == '-' || is_digit()) {
      value.kind = Json::Kind::Number;
      read_number(value);
    } else {
      read_word(value);
    }
    return value;
  }

  void read_word(Json& value) {
    for (std::string_view const word : {"null", "true", "false"}) {
      if (text_.substr(at_, word.size()) != word) continue;
      at_ += word.size();
      value.kind = word == "null" ? Json::Kind::Null : Json::Kind::Bool;
      value.boolean = word == "true";
      return;
    }
    fail(at_ == text_.size() ? "the text ends where a value should be" : "no value");
  }

  void read_array(Json& array, int depth) {
    skip_space();
    if (take(']')) return;
    do {
      array.items.push_back(read_value(depth + 1));
      skip_space();
    } while (take(','));
    if (!take(']')) fail("',' or ']' missing");
  }

  void read_object(Json& object, int depth) {
    skip_space();
    if (take('}')) return;
    do {
      skip_space();
      if (!take('"')) fail("key missing");
      object.names.push_back(read_string());
      skip_space();
      if (!take(':')) fail("':' missing");
      object.items.push_back(read_value(depth + 1));
      skip_space();
    } while (take(','));
    if (!take('}')) fail("',' or '}' missing");
    // Sorted, for a hostile object may have millions of keys and comparing each with each would never end.
    std::vector<std::string_view> sorted(object.names.begin(), object.names.end());
    std::sort(sorted.begin(), sorted.end());
    auto const twin = std::adjacent_find(sorted.begin(), sorted.end());
    if (twin != sorted.end()) fail("key " + quote(*twin) + " twice in the object that ends");
  }

  bool is_digit() const { return peek() >= '0' && peek() <= '9'; }

  void skip_digits() {
    if (!is_digit()) fail("digit missing");
    while (is_digit()) ++at_;
  }

  void read_number(Json& value) {
    std::size_t const begin = at_;
    take('-');
    if (!take('0'))
      skip_digits();
    else if (is_digit())
      fail("number with a leading zero");
    std::size_t const whole_end = at_;
    if (take('.')) skip_digits();
    if (take('e') || take('E')) {
      if (!take('+')) take('-');
      skip_digits();
    }
    char const* const first = text_.data() + begin;
    char const* const last = text_.data() + at_;
    if (std::from_chars(first, last, value.number).ec != std::errc{}) fail("number beyond what a double holds");
    if (whole_end != at_) return;
    std::int64_t whole = 0;
    std::uint64_t natural = 0;
    if (std::from_chars(first, last, whole).ec == std::errc{}) value.whole = whole;
    if (*first != '-' && std::from_chars(first, last, natural).ec == std::errc{}) value.natural = natural;
  }

  std::string read_string() {
    std::string out;
    while (!take('"')) {
      if (at_ == text_.size()) fail("string without its end");
      if (static_cast<unsigned char>(peek()) < 0x20) fail("control character in a string");
      if (take('\\')) {
        read_escape(out);
        continue;
      }
      std::size_t const length = utf8_length(text_.substr(at_));
      if (length == 0) fail("bytes that are not UTF-8");
      out += text_.substr(at_, length);
      at_ += length;
    }
    return out;
  }

  void read_escape(std::string& out) {
    static constexpr std::string_view marks = "\"\\/bfnrt";
    static constexpr std::string_view meant = "\"\\/\b\f\n\r\t";
    if (take('u')) return append_point(out, read_point());
    std::size_t const which = at_ < text_.size() ? marks.find(text_[at_]) : std::string_view::npos;
    if (which == std::string_view::npos) fail("unknown escape");
    ++at_;
    out += meant[which];
  }

  unsigned read_four_digits() {
    unsigned value = 0;
    char const* const first = text_.data() + at_;
    char const* const last = first + std::min<std::size_t>(4, text_.size() - at_);
    if (last - first != 4 || std::from_chars(first, last, value, 16).ptr != last) fail("\\u without four hex digits");
    at_ += 4;
    return value;
  }

  unsigned read_point() {
    unsigned const unit = read_four_digits();
    if (unit < 0xD800 || unit > 0xDFFF) return unit;
    if (unit > 0xDBFF || !take('\\') || !take('u')) fail("lone surrogate");
    unsigned const low = read_four_digits();
    if (low < 0xDC00 || low > 0xDFFF) fail("lone surrogate");
    return 0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00);
  }

  static void append_point(std::string& out, unsigned point) {
    auto const put = [&](unsigned byte) { out += static_cast<char>(static_cast<unsigned char>(byte)); };
    if (point < 0x80) return put(point);
    if (point < 0x800) {
      put(0xC0 | point >> 6);
    } else if (point < 0x10000) {
      put(0xE0 | point >> 12);
      put(0x80 | (point >> 6 & 0x3F));
    } else {
      put(0xF0 | point >> 18);
      put(0x80 | (point >> 12 & 0x3F));
      put(0x80 | (point >> 6 & 0x3F));
    }
    put(0x80 | (point & 0x3F));
  }

  std::string_view text_;
  std::string source_;
  std::size_t at_ = 0;
};

/// Reads one JSON text. `source` (a file name) begins every message; Error names the byte.
inline Json parse_json(std::string_view text, std::string source = "text") {
  return JsonReader(text, std::move(source)).read();
}

}  // namespace cleave::io
