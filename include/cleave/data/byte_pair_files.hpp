// data/byte_pair_files.hpp - reads what describes a byte-pair tokenizer: vocab.json with merges.txt, or tokenizer.json.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../io/file.hpp"
#include "../io/json.hpp"
#include "text_split.hpp"

namespace cleave::session {

/// As the files have them: tokens by their names, in which each byte is a character (bytes_of_name).
struct BytePairFile {
  struct Named {
    std::string name;
    std::int32_t token;
  };
  std::string path;
  std::vector<Named> vocabulary, specials;  ///< names of special tokens are texts
  std::vector<std::pair<std::string, std::string>> merges;
  std::string merges_from;       ///< the beginning of a message about one: "merges.txt: line "
  std::size_t merges_begin = 1;  ///< the number of the first one in it
  bool specials_listed = false;  ///< else they are those that no merge can make, for the split cuts them
  bool whole_words = false;      ///< a word that is a token is not made of merges
  TextSplit split = TextSplit::Gpt2;
};

/// Embedding takes no larger one: tokens are float there.
inline constexpr std::int32_t largest_token = (1 << 24) - 1;

/// A name as it is in a message.
inline std::string quoted_name(std::string_view name) {
  return io::quote(name.substr(0, 80)) + (name.size() > 80 ? "..." : "");
}

/// The byte that a character of a name stands for, by its point; -1: none. Visible characters of Latin-1 are
/// themselves, the other 68 bytes are the characters from U+0100, in order.
inline constexpr std::array<std::int16_t, 324> byte_of_point = [] {
  std::array<std::int16_t, 324> bytes{};
  bytes.fill(-1);
  std::size_t other = 256;
  for (std::size_t byte = 0; byte < 256; ++byte) {
    bool const visible = (byte > 32 && byte < 127) || (byte > 160 && byte != 173);
    bytes[visible ? byte : other++] = static_cast<std::int16_t>(byte);
  }
  return bytes;
}();

/// The bytes of a name; none if one of its characters stands for no byte.
inline std::optional<std::string> bytes_of_name(std::string_view name) {
  std::string bytes;
  for (std::size_t at = 0; at < name.size();) {
    TextCharacter const c = character_at(name, at);
    if (c.point >= byte_of_point.size() || byte_of_point[c.point] < 0) return {};
    bytes += static_cast<char>(static_cast<unsigned char>(byte_of_point[c.point]));
    at += c.bytes;
  }
  return bytes;
}

/// The whole text of a file.
inline std::string file_text(std::string const& path) {
  std::vector<unsigned char> const bytes = io::read_file(path);
  return {bytes.begin(), bytes.end()};
}

/// A merge as it is written, "left right".
inline void add_merge(BytePairFile& file, std::string_view merge) {
  std::size_t const space = merge.find(' ');
  if (space == 0 || space >= merge.size() - 1 || merge.find(' ', space + 1) != std::string_view::npos)
    throw Error({file.merges_from, file.merges_begin + file.merges.size(), ": ", quoted_name(merge),
                 " is no merge, which is two tokens with a space between them"});
  file.merges.emplace_back(merge.substr(0, space), merge.substr(space + 1));
}

/// Reads a JSON text whose parts it knows. Throws Error, with the file and the key.
class BytePairReader {
 public:
  BytePairReader(std::string_view text, BytePairFile& file) : json_(text, file.path), file_(file) {}

  /// {"name": number, ...} alone.
  void read_vocabulary() {
    vocabulary("the file");
    json_.next();  // more text would be an error
  }

  /// A tokenizer.json of the Python package tokenizers.
  void read_tokenizer() {
    bool has_model = false;
    members("the file", [&](std::string const& key) {
      if (key == "added_tokens") return added_tokens();
      if (key == "normalizer") return absent(key);
      if (key == "pre_tokenizer") return pre_tokenizer();
      if (key == "model") return has_model = true, model();
      skip();
    });
    json_.next();
    if (!has_model) fail({"model is missing"});
    if (!split_ || !of_bytes_) unknown("pre_tokenizer", "without ByteLevel, or without a split");
    file_.split = *split_;
  }

 private:
  [[noreturn]] void fail(meta::Pieces what) const {
    throw Error({file_.path, ": ", meta::joined(what), "; is this the file of a tokenizer?"});
  }
  [[noreturn]] void unknown(std::string_view key, std::string_view value) const {
    throw Error(
        {file_.path, ": ", key, " is ", value,
         ", and byte pairs are read as GPT-2 and Llama 3 have them; encode with the Python package tokenizers"});
  }
  void want(io::JsonToken token, std::string_view key, std::string_view kind) {
    if (json_.next() != token) fail({key, " is no ", kind});
  }
  std::string const& text(std::string_view key) { return want(io::JsonToken::String, key, "text"), json_.string(); }
  bool boolean(std::string_view key) { return want(io::JsonToken::Bool, key, "true or false"), json_.boolean(); }
  std::int32_t token(std::string_view name) {
    bool const number = json_.next() == io::JsonToken::Number && json_.whole().has_value();
    if (!number || *json_.whole() < 0 || *json_.whole() > largest_token)
      fail({"the number of ", name.empty() ? "a token" : "token " + quoted_name(name), " is none from 0 to ",
            largest_token});
    return static_cast<std::int32_t>(*json_.whole());
  }
  /// `each(key)` reads the value.
  void members(std::string_view key, auto each) {
    want(io::JsonToken::BeginObject, key, "object");
    while (json_.next() == io::JsonToken::Name) each(std::string(json_.string()));
  }
  /// `each()` reads what begins with the token `first`.
  void list(std::string_view key, io::JsonToken first, std::string_view of, auto each) {
    want(io::JsonToken::BeginArray, key, "list");
    while (json_.next() == first) each();
    if (json_.token() != io::JsonToken::EndArray) fail({key, " is no list of ", of});
  }
  void skip() {
    json_.next();
    json_.skip();
  }
  /// Null, false, or an empty text: what a feature that is not used has.
  void absent(std::string const& key) {
    io::JsonToken const t = json_.next();
    if (t == io::JsonToken::Null || (t == io::JsonToken::Bool && !json_.boolean())) return;
    if (t == io::JsonToken::Number && json_.number() == 0) return;
    if (t == io::JsonToken::String && json_.string().empty()) return;
    unknown(key, t == io::JsonToken::String ? quoted_name(json_.string()) : "used");
  }

  void vocabulary(std::string_view key) {
    members(key, [&](std::string const& name) { file_.vocabulary.push_back({name, token(name)}); });
  }

  void added_tokens() {
    list("added_tokens", io::JsonToken::BeginObject, "objects", [&] {
      BytePairFile::Named added{{}, -1};
      while (json_.next() == io::JsonToken::Name) {
        std::string const key = json_.string();
        if (key == "id") {
          added.token = token(added.name);
        } else if (key == "content") {
          added.name = text(key);
        } else if (key == "lstrip" || key == "rstrip" || key == "single_word") {
          absent(key);
        } else {
          skip();
        }
      }
      if (added.token < 0) fail({"an id is missing in added_tokens"});
      file_.specials.push_back(std::move(added));
    });
  }

  void pre_tokenizer() {
    if (json_.next() == io::JsonToken::Null) return;
    if (json_.token() != io::JsonToken::BeginObject) fail({"pre_tokenizer is no object"});
    pre_tokenizer_part();
  }
  /// ByteLevel by itself splits as GPT-2; behind a Split it only says that tokens are of bytes.
  void pre_tokenizer_part() {
    std::string type;
    bool splits = true;
    while (json_.next() == io::JsonToken::Name) {
      std::string const key = json_.string();
      if (key == "type") {
        type = text(key);
      } else if (key == "use_regex") {
        splits = boolean(key);
      } else if (key == "pattern") {
        members(key, [&](std::string const& kind) { split_by(text(kind)); });
      } else if (key == "behavior") {
        if (text(key) != "Isolated") unknown(key, quoted_name(json_.string()));
      } else if (key == "add_prefix_space" || key == "invert") {
        absent(key);
      } else if (key == "pretokenizers") {
        list(key, io::JsonToken::BeginObject, "objects", [&] { pre_tokenizer_part(); });
      } else {
        skip();
      }
    }
    if (type != "ByteLevel" && type != "Split" && type != "Sequence") unknown("pre_tokenizer", quoted_name(type));
    if (type == "ByteLevel" && splits) split_by(gpt2_split);
    of_bytes_ = of_bytes_ || type == "ByteLevel";
  }
  void split_by(std::string_view expression) {
    if (split_) unknown("pre_tokenizer", "a split after another one");
    if (expression != gpt2_split && expression != llama3_split) unknown("pattern", io::quote(expression));
    split_ = expression == gpt2_split ? TextSplit::Gpt2 : TextSplit::Llama3;
  }

  void model() {
    members("model", [&](std::string const& key) {
      if (key == "type") {
        if (text("model.type") != "BPE") unknown("model.type", quoted_name(json_.string()));
      } else if (key == "vocab") {
        vocabulary("model.vocab");
      } else if (key == "merges") {
        merges();
      } else if (key == "ignore_merges") {
        file_.whole_words = boolean("model.ignore_merges");
      } else if (key == "dropout" || key == "continuing_subword_prefix" || key == "end_of_word_suffix" ||
                 key == "byte_fallback") {
        absent(key);
      } else {
        skip();
      }
    });
  }

  /// Each is "a b", or ["a", "b"].
  void merges() {
    constexpr auto key = "model.merges";
    want(io::JsonToken::BeginArray, key, "list");
    while (json_.next() != io::JsonToken::EndArray) {
      if (json_.token() == io::JsonToken::String) {
        add_merge(file_, json_.string());
      } else {
        if (json_.token() != io::JsonToken::BeginArray) fail({key, " is no list of pairs"});
        std::string left = text(key), right = text(key);
        file_.merges.emplace_back(std::move(left), std::move(right));
        want(io::JsonToken::EndArray, key, "list of pairs");
      }
    }
  }

  io::JsonReader json_;
  BytePairFile& file_;
  std::optional<TextSplit> split_;
  bool of_bytes_ = false;
};

/// GPT-2's two files: the second has a merge in each line.
inline BytePairFile read_byte_pairs(std::string const& vocabulary, std::string const& merges) {
  BytePairFile file;
  file.path = vocabulary;
  file.merges_from = merges + ": line ";
  BytePairReader(file_text(vocabulary), file).read_vocabulary();
  std::string const text = file_text(merges);
  std::string_view rest = text;
  if (rest.starts_with("#version")) {
    file.merges_begin = 2;
    rest.remove_prefix(std::min(rest.size(), rest.substr(0, rest.find('\n')).size() + 1));
  }
  while (!rest.empty()) {
    std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty() && rest.find_first_not_of("\r\n") == std::string_view::npos) break;
    add_merge(file, line);
  }
  return file;
}
inline BytePairFile read_byte_pairs(std::string const& tokenizer) {
  BytePairFile file;
  file.path = tokenizer;
  file.merges_from = tokenizer + ": merge ";
  file.specials_listed = true;
  BytePairReader(file_text(tokenizer), file).read_tokenizer();
  return file;
}

}  // namespace cleave::session
