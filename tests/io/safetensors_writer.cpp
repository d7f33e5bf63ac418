// io/safetensors_writer.cpp - what the format cannot hold is refused before a file is touched.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave/io/safetensors_writer.hpp>

#include "scratch.hpp"

using namespace cleave;
using namespace cleave::io;

namespace {
unsigned char const eight[8] = {1, 2, 3, 4, 5, 6, 7, 8};
NamedTensor two(std::string name) { return {std::move(name), Dtype::F32, {2}, eight}; }
}  // namespace

TEST_CASE("a wrong size, a name twice, a name that is no text, a key that is taken") {
  scratch::Folder const folder;
  std::string const path = folder / "x";
  auto const refused = [&](std::vector<NamedTensor> tensors, Metadata const& metadata, char const* why) {
    CHECK_THROWS_WITH_AS(save_safetensors(path, std::move(tensors), metadata), doctest::Contains(why), Error);
    CHECK(!exists(path));
  };
  refused({{"a", Dtype::F32, {3}, eight}}, {}, "comes with 8 bytes, its shape takes 12");
  refused({two("a"), two("a")}, {}, "\"a\" is taken");
  refused({two("__metadata__")}, {}, "is taken");
  refused({two("\xff")}, {}, "not UTF-8");
  refused({two("a")}, {{"checksum", "0"}}, "is taken");
}

TEST_CASE("a header's checksum is of all but its own digits") {
  std::string const a = "{\"header_checksum\":\"crc32c:00000000\",\"x\":1}";
  std::string b = a, c = a;
  b.replace(b.find("00000000"), 8, "12345678");
  c.replace(c.find("x"), 1, "y");
  CHECK(header_checksum(a) == header_checksum(b));
  CHECK(header_checksum(a) != header_checksum(c));
  CHECK(header_checksum("{}") == std::nullopt);
}
