// data/pair_merges.hpp - the merges of a byte-pair tokenizer, and the tokens that they make of the bytes of a word.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace cleave::session {

/// Two tokens, beside one another, become one. The lowest rank is merged first.
struct PairMerge {
  std::int32_t left = -1, right = -1, rank = -1, token = -1;
};

/// Merges by their two tokens: open addressing, at most half full. Of two merges of one pair the later one counts.
class PairTable {
 public:
  explicit PairTable(std::span<PairMerge const> merges = {}) : slots_(std::bit_ceil(2 * merges.size() + 2)) {
    for (PairMerge const& m : merges) slots_[slot_of(m.left, m.right)] = m;
  }
  /// Null where the two are not merged.
  PairMerge const* find(std::int32_t left, std::int32_t right) const {
    PairMerge const& there = slots_[slot_of(left, right)];
    return there.rank < 0 ? nullptr : &there;
  }

 private:
  /// Of the pair, or the free one where it would be.
  std::size_t slot_of(std::int32_t left, std::int32_t right) const {
    std::uint64_t const key = static_cast<std::uint64_t>(left) << 32 | static_cast<std::uint32_t>(right);
    std::uint64_t const mixed = (key ^ key >> 29) * 0x9E3779B97F4A7C15U;
    std::size_t at = static_cast<std::size_t>(mixed ^ mixed >> 32) & (slots_.size() - 1);
    while (slots_[at].rank >= 0 && (slots_[at].left != left || slots_[at].right != right))
      at = (at + 1) & (slots_.size() - 1);
    return at;
  }

  std::vector<PairMerge> slots_;
};

/// Makes tokens of words, one after another; its memory is kept between them.
class PairMerger {
 public:
  PairMerger(PairTable const& pairs, std::array<std::int32_t, 256> const& bytes) : pairs_(pairs), bytes_(bytes) {}

  /// Appends the tokens of a word of n bytes, in O(n log n).
  void append(std::string_view word, std::vector<std::int32_t>& tokens) {
    begin(word);
    while (!queue_.empty()) {
      Candidate const first = queue_.front();
      std::pop_heap(queue_.begin(), queue_.end(), std::greater<>());
      queue_.pop_back();
      merge(first);
    }
    for (std::size_t i = 0; i < parts_.size(); i = parts_[i].after) tokens.push_back(parts_[i].token);
  }

 private:
  /// A part of the word that is a token, and the first bytes of its neighbours; token -1: it is in the part before it.
  struct WordPart {
    std::int32_t token;
    std::size_t before, after;
  };
  /// A pair that may be merged; of equal ranks the leftmost one is.
  struct Candidate {
    std::int32_t rank;
    std::size_t at;
    bool operator>(Candidate const& other) const { return rank != other.rank ? rank > other.rank : at > other.at; }
  };

  void begin(std::string_view word) {
    parts_.clear();
    queue_.clear();
    for (std::size_t i = 0; i < word.size(); ++i)
      parts_.push_back({bytes_[static_cast<unsigned char>(word[i])], i - 1, i + 1});
    for (std::size_t i = 0; i < word.size(); ++i) {
      if (PairMerge const* const m = pair_at(i)) queue_.push_back({m->rank, i});
    }
    std::make_heap(queue_.begin(), queue_.end(), std::greater<>());
  }

  PairMerge const* pair_at(std::size_t at) const {
    WordPart const& part = parts_[at];
    return part.token < 0 || part.after >= parts_.size() ? nullptr : pairs_.find(part.token, parts_[part.after].token);
  }

  /// Unless one of the two has been merged since the candidate was found.
  void merge(Candidate const& c) {
    PairMerge const* const m = pair_at(c.at);
    if (m == nullptr || m->rank != c.rank) return;
    WordPart& left = parts_[c.at];
    left.token = m->token;
    parts_[std::exchange(left.after, parts_[left.after].after)].token = -1;
    if (left.after < parts_.size()) parts_[left.after].before = c.at;
    offer(c.at);
    if (c.at > 0) offer(left.before);
  }

  void offer(std::size_t at) {
    PairMerge const* const m = pair_at(at);
    if (m == nullptr) return;
    queue_.push_back({m->rank, at});
    std::push_heap(queue_.begin(), queue_.end(), std::greater<>());
  }

  PairTable const& pairs_;
  std::array<std::int32_t, 256> const& bytes_;
  std::vector<WordPart> parts_;
  std::vector<Candidate> queue_;
};

/// Where words of a text were last made tokens of, so that a frequent word is merged once. A word has one place, by its
/// hash, which it may lose to another. Text and tokens must outlive it.
class SeenWords {
 public:
  struct SeenWord {
    std::string_view word;
    std::size_t from = 0, count = 0;  ///< its tokens
  };

  /// A text of a few words needs few places; the most take 2 MB.
  explicit SeenWords(std::size_t text_bytes)
      : seen_(std::bit_ceil(std::clamp<std::size_t>(text_bytes / 4, 1, 65536))) {}

  /// Of this word, or of another or none, to be replaced.
  SeenWord& at(std::string_view word) { return seen_[std::hash<std::string_view>()(word) & (seen_.size() - 1)]; }

 private:
  std::vector<SeenWord> seen_;
};

}  // namespace cleave::session
