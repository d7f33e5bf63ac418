// tests/io/checksum.cpp - checksums against published values and against a bit-by-bit computation.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>

#include <cleave/io/checksum.hpp>
#include <cleave/io/file.hpp>

#include "scratch.hpp"

using namespace cleave::io;

namespace {

std::uint32_t bitwise(std::uint32_t polynomial, Bytes bytes) {
  std::uint32_t state = ~0U;
  for (unsigned char const byte : bytes) {
    state ^= byte;
    for (int bit = 0; bit < 8; ++bit) state = (state >> 1) ^ ((state & 1U) != 0 ? polynomial : 0U);
  }
  return ~state;
}

}  // namespace

TEST_CASE("io/checksum: published answers") {
  CHECK(Crc32c().add(scratch::bytes("123456789")).value() == 0xE3069283U);
  CHECK(Crc32().add(scratch::bytes("123456789")).value() == 0xCBF43926U);
  CHECK(Crc32c().value() == 0);
  // RFC 3720, B.4
  CHECK(Crc32c().add(std::vector<unsigned char>(32, 0)).value() == 0x8A9136AAU);
  CHECK(Crc32c().add(std::vector<unsigned char>(32, 0xFF)).value() == 0x62A8AB43U);
}

TEST_CASE("io/checksum: any length, cut at any place, equals the bitwise definition") {
  std::vector<unsigned char> data(67);
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<unsigned char>(i * i + 31 * i + 5);
  for (std::size_t size = 0; size <= data.size(); ++size) {
    Bytes const bytes = Bytes(data).first(size);
    std::uint32_t const expected = bitwise(0x82F63B78U, bytes);
    for (std::size_t cut = 0; cut <= size; ++cut)
      REQUIRE(Crc32c().add(bytes.first(cut)).add(bytes.subspan(cut)).value() == expected);
  }
}

TEST_CASE("io/checksum: hexadecimal digits") {
  CHECK(hex(0) == "00000000");
  CHECK(hex(0xE3069283U) == "e3069283");
}

TEST_CASE("io/checksum: it works at compile time") {
  constexpr unsigned char digits[] = {'1', '2', '3', '4', '5', '6', '7', '8', '9'};
  static_assert(Crc32c().add(digits).value() == 0xE3069283U);
}
