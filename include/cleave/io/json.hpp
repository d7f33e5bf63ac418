// io/json.hpp - a strict JSON reader for untrusted text, token by token; includes the writer, json_line.hpp.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cleave/io/json_line.hpp>
#include <cleave/io/parse_double.hpp>
#include <cleave/meta/error.hpp>
#include <cleave/meta/sort.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace cleave::io {

/// What JsonReader::next has read. `Name` is the key of an object's member; its value comes next.
enum class JsonToken { Null, Bool, Number, String, Name, BeginArray, EndArray, BeginObject, EndObject, End };

/// Reads one JSON text by RFC 8259, one token a call. Refuses what the standard leaves open: duplicate keys, invalid
/// UTF-8, lone surrogates, numbers beyond a double, and nesting deeper than 64. It keeps no values: besides one string
/// it holds 8 bytes for each key of the open objects, to find duplicates.
///
///     JsonReader json(text, "file.json");
///     if (json.next() == JsonToken::BeginArray)
///       while (json.next() != JsonToken::EndArray) json.skip();
///
/// Every call may throw Error, which names the source and the byte.
class JsonReader {
 public:
  /// The text must outlive the reader; `source` (a file name) begins every message.
  JsonReader(std::string_view text, std::string source) : text_(text), source_(std::move(source)) {
    if (text.size() > std::numeric_limits<std::uint32_t>::max()) fail("text longer than 4 GiB");
  }

  /// Reads the next token. After the end of the value it is End, always.
  JsonToken next() { return token_ = read_next(); }

  JsonToken token() const { return token_; }
  bool boolean() const { return boolean_; }              ///< Of Bool.
  double number() const { return number_; }              ///< Of Number.
  std::string const& string() const { return string_; }  ///< Of String and Name; changed by the next call of either.
  /// Number: exact, when written without fraction or exponent and it fits.
  std::optional<std::int64_t> whole() const { return whole_; }
  /// Number: the same for 0 to 2^64-1.
  std::optional<std::uint64_t> natural() const { return natural_; }

  /// Passes over the rest of the value that the last token began: to its end if it began an array or object.
  void skip() {
    if (token_ != JsonToken::BeginArray && token_ != JsonToken::BeginObject) return;
    int const outside = depth_ - 1;
    while (depth_ > outside) next();
  }

 private:
  static constexpr int depth_limit = 64;
  /// What may come next: a value, the first item or the end of an array, the first member or the end of an object, a
  /// member's value, what follows an item or a member, nothing more.
  enum class Wanted { Value, FirstItem, FirstName, MemberValue, Following };

  struct Key {
    std::uint32_t hash, at;  // the byte behind its opening quote
  };
  struct Level {
    bool object = false;
    std::size_t first_key = 0;  // of its keys in keys_
  };

  [[noreturn]] void fail(std::string const& what) const {
    throw Error({source_, ": not valid JSON: ", what, " at byte ", at_});
  }

  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }

  bool take(char expected) {
    bool const there = at_ < text_.size() && text_[at_] == expected;
    if (there) ++at_;
    return there;
  }

  void skip_space() { at_ = std::min(text_.find_first_not_of(" \t\n\r", at_), text_.size()); }

  JsonToken read_next() {
    skip_space();
    switch (wanted_) {
      case Wanted::Value:
        return read_value();
      case Wanted::FirstItem:
        return take(']') ? close(JsonToken::EndArray) : read_value();
      case Wanted::FirstName:
        return take('}') ? close(JsonToken::EndObject) : read_name();
      case Wanted::MemberValue:
        if (!take(':')) fail("':' missing");
        skip_space();
        return read_value();
      case Wanted::Following:
        break;
    }
    if (depth_ == 0) {
      if (at_ != text_.size()) fail("more text after the end of the value");
      return JsonToken::End;
    }
    if (level().object) {
      if (take(',')) return skip_space(), read_name();
      if (!take('}')) fail("',' or '}' missing");
      return close(JsonToken::EndObject);
    }
    if (take(',')) return skip_space(), read_value();
    if (!take(']')) fail("',' or ']' missing");
    return close(JsonToken::EndArray);
  }

  JsonToken read_value() {
    if (peek() == '{' || peek() == '[') return open();
    wanted_ = Wanted::Following;
    if (take('"')) {
      read_string(string_);
      return JsonToken::String;
    }
    if (peek() == '-' || is_digit()) {
      read_number();
      return JsonToken::Number;
    }
    return read_word();
  }

  Level& level() { return levels_[static_cast<std::size_t>(depth_ - 1)]; }

  JsonToken open() {
    if (depth_ == depth_limit) fail("nesting deeper than " + std::to_string(depth_limit));
    bool const object = text_[at_++] == '{';
    ++depth_;
    level() = {object, keys_.size()};
    wanted_ = object ? Wanted::FirstName : Wanted::FirstItem;
    return object ? JsonToken::BeginObject : JsonToken::BeginArray;
  }

  JsonToken close(JsonToken end) {
    if (level().object) check_keys(level().first_key);
    --depth_;
    wanted_ = Wanted::Following;
    return end;
  }

  JsonToken read_name() {
    if (!take('"')) fail("key missing");
    auto const at = static_cast<std::uint32_t>(at_);
    read_string(string_);
    keys_.push_back({static_cast<std::uint32_t>(std::hash<std::string>()(string_)), at});
    wanted_ = Wanted::MemberValue;
    return JsonToken::Name;
  }

  /// No key of the object that ends may come twice. Sorted, for a hostile object may have millions of keys and
  /// comparing each with each would never end; keys of equal hash are read again from the text.
  void check_keys(std::size_t first) {
    auto const begin = keys_.begin() + static_cast<std::ptrdiff_t>(first);
    meta::sort(std::span(keys_).subspan(first), [&](Key const& a, Key const& b) {
      return a.hash != b.hash ? a.hash < b.hash : a.at != b.at && key(a) < key(b);
    });
    auto const twin = std::adjacent_find(
        begin, keys_.end(), [&](Key const& a, Key const& b) { return a.hash == b.hash && key(a) == key(b); });
    if (twin != keys_.end()) fail("key " + quote(key(*twin).substr(0, 80)) + " twice in the object that ends");
    keys_.erase(begin, keys_.end());
  }

  std::string key(Key const& k) const {
    JsonReader again(text_, {});
    again.at_ = k.at;
    again.read_string(again.string_);
    return again.string_;
  }

  JsonToken read_word() {
    for (std::string_view const word : {"null", "true", "false"}) {
      if (text_.substr(at_, word.size()) != word) continue;
      at_ += word.size();
      boolean_ = word == "true";
      return word == "null" ? JsonToken::Null : JsonToken::Bool;
    }
    fail(at_ == text_.size() ? "the text ends where a value should be" : "no value");
  }

  bool is_digit() const { return peek() >= '0' && peek() <= '9'; }

  void skip_digits() {
    if (!is_digit()) fail("digit missing");
    while (is_digit()) ++at_;
  }

  void read_number() {
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
    if (parse_double(first, last, number_).ec != std::errc{}) fail("number beyond what a double holds");
    whole_.reset();
    natural_.reset();
    if (whole_end != at_) return;
    std::int64_t whole = 0;
    std::uint64_t natural = 0;
    if (std::from_chars(first, last, whole).ec == std::errc{}) whole_ = whole;
    if (*first != '-' && std::from_chars(first, last, natural).ec == std::errc{}) natural_ = natural;
  }

  void read_string(std::string& out) {
    out.clear();
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
  Wanted wanted_ = Wanted::Value;
  int depth_ = 0;
  std::array<Level, depth_limit> levels_{};
  std::vector<Key> keys_;  // of the objects that are open, one behind the other
  JsonToken token_ = JsonToken::Null;
  bool boolean_ = false;
  double number_ = 0;
  std::optional<std::int64_t> whole_;
  std::optional<std::uint64_t> natural_;
  std::string string_;
};

}  // namespace cleave::io
