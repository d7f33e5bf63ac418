// io/token_file_writer.hpp - writes tokens as a file that token_file.hpp reads: llm.c's .bin.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "file.hpp"

namespace cleave::io {

/// Tokens of 16 bits if all are below 65,536, else of 32. Throws Error for a token below 0, for more than 2^31 - 1
/// tokens, or if it cannot be written.
inline void write_tokens(std::string const& path, std::span<std::int32_t const> tokens) {
  constexpr std::size_t most = std::numeric_limits<std::int32_t>::max();
  if (tokens.size() > most)
    throw Error({path, ": ", tokens.size(), " tokens, but llm.c's .bin has at most ", most, "; write several files"});
  auto const below = std::find_if(tokens.begin(), tokens.end(), [](std::int32_t t) { return t < 0; });
  if (below != tokens.end()) throw Error({path, ": token ", below - tokens.begin(), " is ", *below, ", below 0"});
  bool const of_16 = std::all_of(tokens.begin(), tokens.end(), [](std::int32_t t) { return t < 65536; });
  std::vector<std::uint32_t> header(256);
  header[0] = of_16 ? 20240520 : 20240801;
  header[1] = of_16 ? 1 : 7;
  header[2] = static_cast<std::uint32_t>(tokens.size());
  std::vector<std::uint16_t> narrow;
  if (of_16) {
    narrow.reserve(tokens.size());
    for (std::int32_t const t : tokens) narrow.push_back(static_cast<std::uint16_t>(t));
  }
  auto const bytes = [](auto const& of) {
    return Bytes(reinterpret_cast<unsigned char const*>(of.data()), of.size() * sizeof(of[0]));
  };
  Bytes const parts[] = {bytes(header), of_16 ? bytes(narrow) : bytes(tokens)};
  write_file(path, parts);
}

}  // namespace cleave::io
