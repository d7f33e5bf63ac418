// data/pair_merges.cpp - merges of a word, against a search for the lowest rank in every step; words that were seen.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave/data/pair_merges.hpp>

#include <random>
#include <string>

using namespace cleave::session;

namespace {

/// 40 merges of pairs of tokens 0 to 2 and of what they make, in random order of ranks.
std::vector<PairMerge> random_merges(std::mt19937& random) {
  std::vector<PairMerge> merges;
  for (std::int32_t k = 0; k < 40; ++k) {
    auto const any = [&] { return static_cast<std::int32_t>(random() % static_cast<unsigned>(k + 3)); };
    merges.push_back({any(), any(), k, k + 3});
  }
  for (std::size_t k = merges.size(); k-- > 1;) std::swap(merges[k].rank, merges[random() % (k + 1)].rank);
  return merges;
}
std::vector<std::int32_t> by_search(PairTable const& pairs, std::vector<std::int32_t> tokens) {
  for (;;) {
    PairMerge const* best = nullptr;
    std::size_t at = 0;
    for (std::size_t i = 0; i + 1 < tokens.size(); ++i) {
      PairMerge const* const m = pairs.find(tokens[i], tokens[i + 1]);
      if (m != nullptr && (best == nullptr || m->rank < best->rank)) best = m, at = i;
    }
    if (best == nullptr) return tokens;
    tokens[at] = best->token;
    tokens.erase(tokens.begin() + static_cast<std::ptrdiff_t>(at) + 1);
  }
}

}  // namespace

TEST_CASE("in every step the pair of the lowest rank is merged, of equal ones the leftmost") {
  std::mt19937 random(3);
  std::array<std::int32_t, 256> bytes{};
  bytes['a'] = 0, bytes['b'] = 1, bytes['c'] = 2;
  for (int trial = 0; trial < 300; ++trial) {
    PairTable const pairs(random_merges(random));
    PairMerger merger(pairs, bytes);
    std::string word;
    std::vector<std::int32_t> letters, tokens;
    for (auto k = random() % 30; k > 0; --k) {
      letters.push_back(static_cast<std::int32_t>(random() % 3));
      word += "abc"[letters.back()];
    }
    merger.append(word, tokens);
    CHECK(tokens == by_search(pairs, letters));
  }
}
TEST_CASE("of two merges of one pair the later one counts, and without merges bytes stay") {
  std::vector<PairMerge> const merges{{1, 2, 0, 7}, {1, 2, 1, 8}};
  CHECK(PairTable(merges).find(1, 2)->token == 8);
  CHECK(PairTable(merges).find(2, 1) == nullptr);
  CHECK(PairTable().find(0, 0) == nullptr);
}
TEST_CASE("a word of a million equal letters is merged in a moment") {
  std::vector<PairMerge> const merges{{0, 0, 0, 1}, {1, 1, 1, 2}};
  PairTable const pairs(merges);
  std::array<std::int32_t, 256> const bytes{};
  std::vector<std::int32_t> tokens;
  PairMerger(pairs, bytes).append(std::string(1'000'003, 'a'), tokens);
  CHECK(tokens.size() == 250'002);
  CHECK(tokens.front() == 2);
  CHECK(tokens[250'000] == 1);
  CHECK(tokens.back() == 0);
}
TEST_CASE("a word that was seen is found until another takes its place") {
  SeenWords seen(0);  // one place
  seen.at("dog") = {"dog", 5, 2};
  CHECK(seen.at("dog").from == 5);
  CHECK(seen.at("cat").word == "dog");
}
