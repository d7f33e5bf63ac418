// io/mapped_file.cpp - a mapped file has the bytes of the file; what cannot be mapped is told.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave/io/file.hpp>
#include <cleave/io/mapped_file.hpp>

#include "scratch.hpp"

using namespace cleave;

TEST_CASE("a mapped file has the file's bytes, and an empty one has none") {
  scratch::Folder const folder;
  std::string const path = folder / "bytes";
  io::write_file(path, std::vector<unsigned char>{1, 2, 250});
  io::MappedFile file(path);
  CHECK(std::vector<unsigned char>(file.bytes().begin(), file.bytes().end()) == std::vector<unsigned char>{1, 2, 250});
  io::MappedFile moved = std::move(file);
  CHECK(moved.bytes()[2] == 250);
  io::write_file(path, std::vector<unsigned char>{});
  CHECK(io::MappedFile(path).bytes().empty());
  CHECK(moved.bytes()[0] == 1);  // of the file that was there
}
TEST_CASE("what is no file is told") {
  scratch::Folder const folder;
  CHECK_THROWS_WITH_AS(io::MappedFile(folder / "none"), doctest::Contains("cannot open this file"), Error);
  CHECK_THROWS_WITH_AS(io::MappedFile(folder.path()), doctest::Contains("is no regular file"), Error);
}
