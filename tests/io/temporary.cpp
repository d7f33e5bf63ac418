// tests/io/temporary.cpp - temporaries of dead writers go, those of living ones and all other files stay.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>

#include <sys/wait.h>

#include <cleave/io/file.hpp>

#include "scratch.hpp"

using namespace cleave::io;

namespace {

/// `work` in a process of its own, which ends by its return value, without destructors of what is alive.
template <typename Work> pid_t in_child(Work&& work) {
  pid_t const child = ::fork();
  if (child == 0) ::_exit(work());
  return child;
}
int result(pid_t child) {
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int temporaries(std::string const& folder) {
  DIR* const list = ::opendir(folder.c_str());
  int count = 0;
  while (dirent const* const entry = ::readdir(list)) count += !boot_of_temporary(entry->d_name).empty();
  ::closedir(list);
  return count;
}

/// The name of a temporary of this or another boot.
std::string name_of(std::string const& boot, int number = 0) {
  return "x.new-" + boot + "-" + "00000000000000" + std::to_string(10 + number);
}

void make(std::string const& path, int days_old = 0) {
  Descriptor const file(::open(path.c_str(), O_WRONLY | O_CREAT, 0666));
  REQUIRE(::write(file.number(), "kept", 4) == 4);
  timespec times[2]{};
  times[0].tv_nsec = UTIME_OMIT;
  times[1].tv_sec = std::time(nullptr) - 24L * 60 * 60 * days_old;
  REQUIRE(::futimens(file.number(), times) == 0);
}

std::string const other_boot = boot_mark() == "0123abcd" ? "0123abce" : "0123abcd";

}  // namespace

TEST_CASE("io/temporary: what a dead writer left is removed by the next save in its folder") {
  scratch::Folder const folder;
  CHECK(boot_mark().size() == 8);
  REQUIRE(result(in_child([&] {
            auto* const left = new Temporary(folder / "x");
            return left->number() >= 0 && ::write(left->number(), "half", 4) == 4 ? 0 : 1;
          })) == 0);
  CHECK(temporaries(folder.path()) == 1);
  write_file(folder / "y", scratch::bytes("new"));
  CHECK(temporaries(folder.path()) == 0);
  CHECK_FALSE(exists(folder / "x"));
}

TEST_CASE("io/temporary: a living writer's is left alone, and lands") {
  scratch::Folder const folder;
  int go[2], made[2];
  REQUIRE(::pipe(go) == 0);
  REQUIRE(::pipe(made) == 0);
  char byte = 0;
  pid_t const child = in_child([&] {
    Temporary file(folder / "x");
    if (::write(file.number(), "whole", 5) != 5 || ::write(made[1], "1", 1) != 1) return 1;
    return ::read(go[0], &byte, 1) == 1 && file.land() == 0 ? 0 : 2;
  });
  REQUIRE(::read(made[0], &byte, 1) == 1);
  for (int i = 0; i < 3; ++i) write_file(folder / "x", scratch::bytes("other"));
  CHECK(temporaries(folder.path()) == 1);
  CHECK(read_file(folder / "x") == scratch::bytes("other"));
  REQUIRE(::write(go[1], "1", 1) == 1);
  CHECK(result(child) == 0);
  CHECK(read_file(folder / "x") == scratch::bytes("whole"));
  CHECK(temporaries(folder.path()) == 0);
  for (int const end : {go[0], go[1], made[0], made[1]}) ::close(end);
}

TEST_CASE("io/temporary: many processes save under one name, and none takes another's file for a stale one") {
  scratch::Folder const folder;
  std::vector<pid_t> writers;
  for (int w = 0; w < 4; ++w) {
    writers.push_back(in_child([&] {
      std::vector<unsigned char> const own(5000, static_cast<unsigned char>('a' + w));
      try {
        for (int i = 0; i < 100; ++i) write_file(folder / "x", own);
      } catch (cleave::Error const& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
      }
      return 0;
    }));
  }
  for (pid_t const writer : writers) CHECK(result(writer) == 0);
  CHECK(temporaries(folder.path()) == 0);
  std::vector<unsigned char> const last = read_file(folder / "x");
  CHECK(last == std::vector<unsigned char>(5000, last.at(0)));
}

TEST_CASE("io/temporary: of another boot, only what is a day old and not locked is removed") {
  scratch::Folder const folder;
  make(folder / name_of(other_boot, 0));
  make(folder / name_of(other_boot, 1), 2);
  make(folder / name_of(other_boot, 2), 2);
  Descriptor const held(::open((folder / name_of(other_boot, 2)).c_str(), O_RDWR));
  REQUIRE(::flock(held.number(), LOCK_EX) == 0);
  remove_stale_temporaries(folder.path());
  CHECK(exists(folder / name_of(other_boot, 0)));
  CHECK_FALSE(exists(folder / name_of(other_boot, 1)));
  CHECK(exists(folder / name_of(other_boot, 2)));
}

TEST_CASE("io/temporary: what is no temporary of ours is neither removed nor followed") {
  scratch::Folder const folder;
  std::string const boot = boot_mark();
  make(folder / "victim", 9);
  REQUIRE(::symlink((folder / "victim").c_str(), (folder / name_of(boot, 0)).c_str()) == 0);
  make_folder(folder / name_of(boot, 1));
  REQUIRE(::mkfifo((folder / name_of(boot, 2)).c_str(), 0600) == 0);
  make(folder / "x.new-12-0", 9);
  make(folder / ("x.old-" + boot + "-0123456789abcdef"), 9);
  make(folder / ("x.new-" + boot + "-0123456789abcdeX"), 9);
  make(folder / (".new-" + boot + "-0123456789abcdef"), 9);
  make(folder / name_of(boot, 3), 9);
  if (::geteuid() == 0) REQUIRE(::chown((folder / name_of(boot, 3)).c_str(), 1, 1) == 0);
  make(folder / name_of(boot, 4));
  remove_stale_temporaries(folder.path());
  CHECK(read_file(folder / "victim") == scratch::bytes("kept"));
  for (int i = 0; i < 3; ++i) {
    struct stat about {};
    CHECK(::lstat((folder / name_of(boot, i)).c_str(), &about) == 0);
  }
  CHECK(exists(folder / "x.new-12-0"));
  CHECK(exists(folder / ("x.old-" + boot + "-0123456789abcdef")));
  CHECK(exists(folder / ("x.new-" + boot + "-0123456789abcdeX")));
  CHECK(exists(folder / (".new-" + boot + "-0123456789abcdef")));
  CHECK(exists(folder / name_of(boot, 3)) == (::geteuid() == 0));
  CHECK_FALSE(exists(folder / name_of(boot, 4)));
}

TEST_CASE("io/temporary: files named by this process's id, left in another container, are not in the way") {
  scratch::Folder const folder;
  for (int serial = 0; serial < 5000; ++serial)
    make(folder / ("x.new-" + std::to_string(::getpid()) + "-" + std::to_string(serial)));
  CHECK_NOTHROW(write_file(folder / "x", scratch::bytes("new")));
  CHECK(read_file(folder / "x") == scratch::bytes("new"));
}
