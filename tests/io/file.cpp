// tests/io/file.cpp - whole files: round trips, and failures that leave the old file alone.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>

#include <dirent.h>
#include <sys/resource.h>

#include <cleave/io/file.hpp>
#include <csignal>

#include "heap.hpp"
#include "scratch.hpp"

using namespace cleave::io;
using scratch::has;

namespace {

int entries(std::string const& folder) {
  DIR* const list = ::opendir(folder.c_str());
  int count = 0;
  while (dirent const* const entry = ::readdir(list)) count += entry->d_name[0] == '.' ? 0 : 1;
  ::closedir(list);
  return count;
}

}  // namespace

TEST_CASE("io/file: what is written is read back, whatever its size") {
  scratch::Folder const folder;
  for (std::size_t const size : {std::size_t{0}, std::size_t{1}, std::size_t{4096}, std::size_t{300001}}) {
    std::vector<unsigned char> data(size);
    for (std::size_t i = 0; i < size; ++i) data[i] = static_cast<unsigned char>(i * 7 + i / 256);
    write_file(folder / "x", data);
    CHECK(read_file(folder / "x") == data);
  }
  CHECK(entries(folder.path()) == 1);
}

TEST_CASE("io/file: parts are written one after another") {
  scratch::Folder const folder;
  auto const a = scratch::bytes("one ");
  auto const b = scratch::bytes("two");
  Bytes const parts[] = {a, {}, b};
  write_file(folder / "x", std::span<Bytes const>(parts));
  CHECK(read_file(folder / "x") == scratch::bytes("one two"));
}

TEST_CASE("io/file: a file whose size cannot be known beforehand is read to its end") {
  CHECK(read_file("/proc/self/status").size() > 100);
}

TEST_CASE("io/file: a file that does not fit in memory is an Error") {
  scratch::Folder const folder;
  write_file(folder / "x", scratch::bytes("a"));
  REQUIRE(::truncate((folder / "x").c_str(), 50'000'000) == 0);
  scratch::heap_most = 10'000'000;
  std::string const message = scratch::message([&] { read_file(folder / "x"); });
  scratch::heap_most = static_cast<std::size_t>(-1);
  CHECK(message == (folder / "x") + ": there is no memory for its 50000000 bytes");
}

TEST_CASE("io/file: a missing file and a folder are refused with the name and the system's words") {
  scratch::Folder const folder;
  std::string const missing = scratch::message([&] { read_file(folder / "none"); });
  CHECK(has(missing, folder / "none"));
  CHECK(has(missing, "No such file"));
  CHECK(has(scratch::message([&] { read_file(folder.path()); }), "Is a directory"));
  CHECK(has(scratch::message([&] { write_file(folder / "none/x", scratch::bytes("a")); }), "No such file"));
}

TEST_CASE("io/file: a write that fails half way leaves the old file and no temporary") {
  scratch::Folder const folder;
  write_file(folder / "x", scratch::bytes("old"));
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  auto* const handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit tight = before;
  tight.rlim_cur = 1000;
  ::setrlimit(RLIMIT_FSIZE, &tight);
  std::string const message = scratch::message([&] { write_file(folder / "x", std::vector<unsigned char>(5000)); });
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  CHECK(has(message, "File too large"));
  CHECK(has(message, folder / "x"));
  CHECK(read_file(folder / "x") == scratch::bytes("old"));
  CHECK(entries(folder.path()) == 1);
}

TEST_CASE("io/file: a rename that fails leaves no temporary") {
  scratch::Folder const folder;
  make_folder(folder / "taken");
  CHECK(has(scratch::message([&] { write_file(folder / "taken", scratch::bytes("a")); }), "Is a directory"));
  CHECK(entries(folder.path()) == 1);
}

TEST_CASE("io/file: folders are made with those above them, and a file in the way is an error") {
  scratch::Folder const folder;
  make_folder(folder / "a/b/c");
  make_folder(folder / "a/b/c/");
  CHECK(exists(folder / "a/b/c"));
  CHECK_FALSE(exists(folder / "a/c"));
  write_file(folder / "a/file", scratch::bytes("x"));
  CHECK(has(scratch::message([&] { make_folder(folder / "a/file"); }), "a/file"));
  CHECK_THROWS_AS(make_folder(folder / "a/file/b"), cleave::Error);
}

TEST_CASE("io/file: the folder of a path") {
  CHECK(folder_of("a/b/c") == "a/b");
  CHECK(folder_of("c") == ".");
  CHECK(folder_of("/c") == "/");
}

TEST_CASE("io/file: a data file is found in the folder or the one inside, else both are named") {
  scratch::Folder const folder;
  make_folder(folder / "inner");
  write_file(folder / "inner/x", scratch::bytes("1"));
  CHECK(locate(folder.path(), "inner", "x") == folder / "inner/x");
  write_file(folder / "x", scratch::bytes("2"));
  CHECK(locate(folder.path(), "inner", "x") == folder / "x");
  std::string const message = scratch::message([&] { locate(folder.path(), "inner", "y"); });
  CHECK(has(message, "y: not found in " + folder.path() + " nor in " + (folder / "inner")));
  write_file(folder / "inner/y.gz", scratch::bytes("1"));
  CHECK(scratch::message([&] { locate(folder.path(), "inner", "y"); }) ==
        (folder / "inner/y.gz") + " is packed; unpack it: gunzip " + (folder / "inner/y.gz"));
}
