// io/checksum.hpp - 32-bit cyclic checksums, eight bytes a step.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace cleave::io {

using CrcTables = std::array<std::array<std::uint32_t, 256>, 8>;

/// Table k holds the effect of a byte that is followed by k zero bytes. `polynomial` has its bits reversed.
constexpr CrcTables make_crc_tables(std::uint32_t polynomial) {
  CrcTables tables{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t rest = byte;
    for (int bit = 0; bit < 8; ++bit) rest = (rest >> 1) ^ ((rest & 1U) != 0 ? polynomial : 0U);
    tables[0][byte] = rest;
  }
  for (std::size_t k = 1; k < 8; ++k) {
    for (std::size_t byte = 0; byte < 256; ++byte) {
      std::uint32_t const before = tables[k - 1][byte];
      tables[k][byte] = (before >> 8) ^ tables[0][before & 0xFFU];
    }
  }
  return tables;
}

/// A checksum that grows: add bytes in any pieces, ask for the value at any time.
template <std::uint32_t Polynomial> class Crc {
 public:
  constexpr Crc& add(std::span<unsigned char const> bytes) {
    std::uint32_t state = state_;
    for (; bytes.size() >= 8; bytes = bytes.subspan(8)) {
      state ^= four(bytes.data());
      std::uint32_t const next = four(bytes.data() + 4);
      state = tables[7][state & 0xFFU] ^ tables[6][(state >> 8) & 0xFFU] ^ tables[5][(state >> 16) & 0xFFU] ^
              tables[4][state >> 24] ^ tables[3][next & 0xFFU] ^ tables[2][(next >> 8) & 0xFFU] ^
              tables[1][(next >> 16) & 0xFFU] ^ tables[0][next >> 24];
    }
    for (unsigned char const byte : bytes) state = (state >> 8) ^ tables[0][(state ^ byte) & 0xFFU];
    state_ = state;
    return *this;
  }

  constexpr std::uint32_t value() const { return ~state_; }

 private:
  static constexpr CrcTables tables = make_crc_tables(Polynomial);

  static constexpr std::uint32_t four(unsigned char const* at) {
    return std::uint32_t{at[0]} | std::uint32_t{at[1]} << 8 | std::uint32_t{at[2]} << 16 | std::uint32_t{at[3]} << 24;
  }

  std::uint32_t state_ = 0xFFFFFFFFU;
};

using Crc32c = Crc<0x82F63B78U>;  ///< Castagnoli: the checksum of checkpoints.
using Crc32 = Crc<0xEDB88320U>;   ///< The one PNG asks for.

/// Eight lower-case hexadecimal digits.
inline std::string hex(std::uint32_t value) {
  std::string text(8, '0');
  for (std::size_t i = 8; i-- > 0; value >>= 4) text[i] = "0123456789abcdef"[value & 15U];
  return text;
}

}  // namespace cleave::io
