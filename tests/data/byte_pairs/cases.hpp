// data/byte_pairs/cases.hpp - what the Python package tokenizers makes of some texts (tests/torch/byte_pairs.py).
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <doctest/doctest.h>
#include <cleave/io/file.hpp>
#include <cstdlib>

#include "../../io/json_tree.hpp"

namespace byte_pairs {

/// A file of this folder.
inline std::string path(std::string const& name) {
  char const* const folder = std::getenv("CLEAVE_BYTE_PAIRS");
  REQUIRE_MESSAGE(folder, "CLEAVE_BYTE_PAIRS is to name tests/data/byte_pairs");
  return std::string(folder) + "/" + name;
}
inline std::string text_of(std::string const& name) {
  std::vector<unsigned char> const bytes = cleave::io::read_file(path(name));
  return {bytes.begin(), bytes.end()};
}

struct Case {
  std::string text;
  std::vector<int> gpt2, llama3;              // tokens
  std::vector<int> gpt2_words, llama3_words;  // bytes of each word, where special tokens are text
};

inline std::vector<Case> cases() {
  std::string const text = text_of("cases.json");
  std::vector<Case> out;
  for (scratch::Json const& item : scratch::parse_json(text).items) {
    auto const numbers = [&](char const* name) {
      std::vector<int> list;
      for (scratch::Json const& n : item.find(name)->items) list.push_back(static_cast<int>(*n.whole));
      return list;
    };
    out.push_back({item.find("text")->string, numbers("gpt2"), numbers("llama3"), numbers("gpt2_words"),
                   numbers("llama3_words")});
  }
  REQUIRE(out.size() > 100);
  return out;
}

}  // namespace byte_pairs
