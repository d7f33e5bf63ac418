// data/byte_pairs.hpp - BytePairTokenizer: text as the tokens of GPT-2 or Llama 3, and tokens as text.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "../meta/error.hpp"
#include "byte_pair_files.hpp"
#include "pair_merges.hpp"

namespace cleave {

/// Whether encode makes "<|endoftext|>" in a text one token, or, as for a text that others wrote, tokens of its
/// letters.
enum class SpecialTokens { Recognised, AsText };

/// A byte-level byte-pair encoding (Radford et al. 2019), from the files that are published with a model's weights:
///
///     BytePairTokenizer const gpt2("gpt2/vocab.json", "gpt2/merges.txt"), llama("llama3/tokenizer.json");
///     std::vector<std::int32_t> const tokens = gpt2.encode("The dog is");  // 464, 3290, 318
///     std::string const text = gpt2.decode(tokens);
///
/// Numbers are those of the Python package tokenizers. Every sequence of bytes has tokens, and they decode to it. Of
/// tokenizer.json are read those whose split is GPT-2's or Llama 3's, without a normalizer. Several threads may use it.
class BytePairTokenizer {
 public:
  /// GPT-2's vocab.json and merges.txt, under any names. Special tokens are those that no merge makes, and that no
  /// one word is.
  BytePairTokenizer(std::string const& vocabulary, std::string const& merges)
      : BytePairTokenizer(session::read_byte_pairs(vocabulary, merges)) {}
  /// A tokenizer.json. Special tokens are its added_tokens. Throws Error, as the other, where a file is another one.
  explicit BytePairTokenizer(std::string const& tokenizer) : BytePairTokenizer(session::read_byte_pairs(tokenizer)) {}

  /// What Embedding and TokenWindows take: one more than the largest token.
  int vocabulary() const { return static_cast<int>(texts_.size()); }

  /// No token is added before or after those of the text.
  std::vector<std::int32_t> encode(std::string_view text, SpecialTokens how = SpecialTokens::Recognised) const {
    std::vector<std::int32_t> tokens;
    session::SeenWords seen(text.size());
    session::PairMerger merger(pairs_, bytes_);
    while (!text.empty()) {
      NextSpecial const next = how == SpecialTokens::AsText ? NextSpecial{text.size()} : find_special(text);
      append_words(text.substr(0, next.at), seen, merger, tokens);
      if (next.bytes > 0) tokens.push_back(next.token);
      text.remove_prefix(next.at + next.bytes);
    }
    return tokens;
  }

  /// The bytes of the tokens, special ones with their names; UTF-8 if no character is cut. Throws Error for a number
  /// that is no token.
  std::string decode(std::span<std::int32_t const> tokens) const {
    std::string text;
    for (std::int32_t const token : tokens) {
      if (token < 0 || token >= vocabulary() || texts_[static_cast<std::size_t>(token)].empty())
        throw Error({path_, ": ", token, " is no token; they are 0 to ", vocabulary() - 1});
      text += texts_[static_cast<std::size_t>(token)];
    }
    return text;
  }

  /// The token of exactly this text, such as "<|endoftext|>", special ones first. Throws Error if there is none.
  std::int32_t token(std::string_view text) const {
    for (Special const& s : specials_)
      if (s.text == text) return s.token;
    auto const word = words_.find(std::string(text));
    if (word == words_.end()) throw Error({path_, ": no token is ", session::quoted_name(text)});
    return word->second;
  }

 private:
  struct Special {
    std::string text;
    std::int32_t token;
  };
  /// Where a special token begins, or the end of the text.
  struct NextSpecial {
    std::size_t at, bytes = 0;
    std::int32_t token = -1;
  };
  using Numbers = std::unordered_map<std::string, std::int32_t>;

  explicit BytePairTokenizer(session::BytePairFile const& file)
      : path_(file.path), whole_words_(file.whole_words), split_(file.split) {
    read_words(file, read_merges(file));
    find_bytes();
    std::stable_sort(specials_.begin(), specials_.end(),
                     [](Special const& a, Special const& b) { return a.text.size() > b.text.size(); });
    for (Special const& s : specials_) begins_special_[static_cast<unsigned char>(s.text[0])] = true;
  }

  /// By its number, whether merges make a token.
  std::vector<bool> read_merges(session::BytePairFile const& file) {
    Numbers numbers;  // by name
    for (auto const& [name, token] : file.vocabulary) numbers.emplace(name, token);
    std::int32_t last = 0;
    for (auto const* const list : {&file.vocabulary, &file.specials})
      for (auto const& named : *list) last = std::max(last, named.token);
    std::vector<bool> made(static_cast<std::size_t>(last) + 1);
    std::vector<session::PairMerge> merges;
    for (auto const& [left, right] : file.merges) {
      auto const number = [&](std::string const& name) {
        auto const found = numbers.find(name);
        if (found == numbers.end())
          throw Error({file.merges_from, file.merges_begin + merges.size(), ": ", session::quoted_name(name),
                       " is no token of ", path_, "; take all files from one model"});
        return found->second;
      };
      session::PairMerge const m{number(left), number(right), static_cast<std::int32_t>(merges.size()),
                                 number(left + right)};
      made[static_cast<std::size_t>(m.token)] = true;
      merges.push_back(m);
    }
    pairs_ = session::PairTable(merges);
    return made;
  }

  void read_words(session::BytePairFile const& file, std::vector<bool> const& made) {
    std::vector<bool> special(made.size());
    for (auto const& [name, token] : file.specials) {
      add_special(name, token);
      special[static_cast<std::size_t>(token)] = true;
    }
    for (auto const& [name, token] : file.vocabulary) {
      auto const at = static_cast<std::size_t>(token);
      if (special[at] && texts_[at] == name) continue;
      std::optional<std::string> const bytes = session::bytes_of_name(name);
      if (file.specials_listed || made[at] || (bytes && bytes->size() == 1)) {
        add(bytes ? *bytes : name, token);
        if (bytes) words_.emplace(*bytes, token);
      } else {
        std::string const& text = bytes ? *bytes : name;
        if (!text.empty() && session::first_word(text, split_) == text.size())
          throw Error({file.merges_from, file.merges_begin + file.merges.size() - 1,
                       " is the last, and no merge makes ", session::quoted_name(name), " of ", path_,
                       "; the file is cut short, or of another model"});
        add_special(name, token);
      }
    }
  }

  void add(std::string const& text, std::int32_t token) {
    auto const at = static_cast<std::size_t>(token);
    if (at >= texts_.size()) texts_.resize(at + 1);
    if (text.empty()) throw Error({path_, ": token ", token, " is empty; is this the file of a tokenizer?"});
    if (!texts_[at].empty())
      throw Error({path_, ": ", session::quoted_name(texts_[at]), " and ", session::quoted_name(text),
                   " are both token ", token, "; is this the file of a tokenizer?"});
    texts_[at] = text;
  }
  void add_special(std::string const& text, std::int32_t token) {
    add(text, token);
    specials_.push_back({text, token});
  }

  void find_bytes() {
    for (std::size_t byte = 0; byte < 256; ++byte) {
      auto const word = words_.find(std::string(1, static_cast<char>(static_cast<unsigned char>(byte))));
      if (word == words_.end())
        throw Error({path_, ": no token is the byte ", byte,
                     ", and each of the 256 is one; train with initial_alphabet=ByteLevel.alphabet()"});
      bytes_[byte] = word->second;
    }
  }

  /// The first one, and of those that begin there the longest.
  NextSpecial find_special(std::string_view text) const {
    for (std::size_t at = 0; at < text.size(); ++at) {
      if (!begins_special_[static_cast<unsigned char>(text[at])]) continue;
      for (Special const& s : specials_)
        if (text.substr(at).starts_with(s.text)) return {at, s.text.size(), s.token};
    }
    return {text.size()};
  }

  void append_words(std::string_view text, session::SeenWords& seen, session::PairMerger& merger,
                    std::vector<std::int32_t>& tokens) const {
    while (!text.empty()) {
      std::string_view const word = text.substr(0, session::first_word(text, split_));
      text.remove_prefix(word.size());
      session::SeenWords::SeenWord& last = seen.at(word);
      std::size_t const from = tokens.size();
      if (last.word == word) {
        for (std::size_t i = 0; i < last.count; ++i) tokens.push_back(tokens[last.from + i]);
      } else {
        append_word(word, merger, tokens);
        last = {word, from, tokens.size() - from};
      }
    }
  }
  void append_word(std::string_view word, session::PairMerger& merger, std::vector<std::int32_t>& tokens) const {
    auto const whole = whole_words_ ? words_.find(std::string(word)) : words_.end();
    if (whole != words_.end())
      tokens.push_back(whole->second);
    else
      merger.append(word, tokens);
  }

  std::string path_;
  bool whole_words_;
  session::TextSplit split_;
  std::vector<std::string> texts_;  // by token; empty: a number that no token has
  std::vector<Special> specials_;   // the longest first
  std::array<bool, 256> begins_special_{};
  Numbers words_;  // tokens that are no special ones, by their bytes
  session::PairTable pairs_;
  std::array<std::int32_t, 256> bytes_{};
};

}  // namespace cleave
