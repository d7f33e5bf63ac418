// io/token_file_writer.cpp - tokens are written as they are read, in as few bytes as their numbers need.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave/io/token_file.hpp>
#include <cleave/io/token_file_writer.hpp>

#include "scratch.hpp"

using namespace cleave;

namespace {

std::vector<int> written_and_read(std::vector<int> const& tokens, std::size_t bytes_each) {
  scratch::Folder const folder;
  io::write_tokens(folder / "tokens.bin", tokens);
  CHECK(io::read_file(folder / "tokens.bin").size() == 1024 + bytes_each * tokens.size());
  io::TokenFile const file(folder / "tokens.bin");
  std::vector<int> out;
  for (long i = 0; i < file.size(); ++i) out.push_back(file[i]);
  return out;
}

}  // namespace

TEST_CASE("tokens below 65536 take 2 bytes each, others 4, and all are read again") {
  std::vector<int> const small{0, 50256, 65535}, large{0, 65536, 128000}, none;
  CHECK(written_and_read(small, 2) == small);
  CHECK(written_and_read(large, 4) == large);
  CHECK(written_and_read(none, 2) == none);
}
TEST_CASE("a token below 0 is told with its place, and no file is written") {
  scratch::Folder const folder;
  std::string const path = folder / "tokens.bin";
  CHECK(scratch::message([&] { io::write_tokens(path, std::vector{3, -1}); }) == path + ": token 1 is -1, below 0");
  CHECK(!io::exists(path));
}
