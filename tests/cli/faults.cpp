// cli/faults.cpp - the i-th allocation, thread or file operation of a run fails, for every i: one line says so, and the
// checkpoint that was there still loads.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave.hpp>

#include <sys/mman.h>
#include <sys/wait.h>

#include "../io/scratch.hpp"
#include "faults.hpp"

using namespace cleave;

namespace {

struct Net : Sequential<Vector<6>, Linear<4>, Relu, Linear<3>, CrossEntropy> {};
struct Together : Plan<Net, Batch<4>, MicroBatches<2>, DataParallel<Sync>, Momentum> {};
struct Around : Plan<Net, Batch<4>, DataParallel<Async>, Shards<2>> {};
struct Few {
  static constexpr std::string_view name = "few";
  static constexpr session::Variation variation{};
  static io::Images read(std::string const&, io::Split split, std::string&) {
    io::Images images{
        .count = split == io::Split::Train ? 8 : 4, .channels = 1, .height = 2, .width = 3, .pixels = {}, .labels = {}};
    for (int i = 0; i < images.count; ++i) {
      images.labels.push_back(static_cast<unsigned char>(i % 3));
      for (int k = 0; k < 6; ++k) images.pixels.push_back(static_cast<unsigned char>(37 * i + 11 * k));
    }
    return images;
  }
};

struct Result {
  int code = 0;         // -1: a signal has ended it
  bool struck = false;  // the call to fail came
  std::string told;     // what it wrote to stderr
};

/// One more epoch on top of the checkpoint, or the first one, in a process of its own, where one call fails.
template <class P>
Result run_with_fault(std::string const& folder, std::string const& checkpoint, faults::Kind kind, long call,
                      bool all) {
  static auto* const struck =
      static_cast<std::atomic<bool>*>(::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  *struck = false;
  std::vector<char const*> words{"faults", "--ranks", "2", "--out", folder.c_str(), "--epochs", "2"};
  if (checkpoint.empty()) {
    words.back() = "1";
  } else {
    words.insert(words.end(), {"--resume", checkpoint.c_str()});
  }
  std::FILE* const told = std::tmpfile();
  std::fflush(nullptr);
  pid_t const child = ::fork();
  if (child == 0) {
    ::alarm(120);  // whoever waits for ever is ended
    ::dup2(::fileno(told), 2);
    if (!std::freopen("/dev/null", "w", stdout)) ::_exit(99);
    faults::arm(kind, call, all);
    int const code = run<P, Few>(static_cast<int>(words.size()), const_cast<char**>(words.data()));
    faults::kind = faults::Kind::None;
    *struck = faults::seen > call;
    ::_exit(code);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  Result result{WIFEXITED(status) ? WEXITSTATUS(status) : -1, WIFEXITED(status) ? struck->load() : true, {}};
  std::rewind(told);
  for (int c = std::fgetc(told); c != EOF; c = std::fgetc(told)) result.told += static_cast<char>(c);
  std::fclose(told);
  return result;
}

bool is_temporary(std::string const& name) { return !io::boot_of_temporary(name).empty(); }

/// Every checkpoint under its own name is whole; how many there are.
int whole_checkpoints(std::string const& folder) {
  int count = 0;
  DIR* const list = ::opendir(folder.c_str());
  while (dirent const* const entry = ::readdir(list)) {
    std::string const name = entry->d_name;
    if (name.find(".safetensors") == std::string::npos || is_temporary(name)) continue;
    CHECK_NOTHROW(io::load_safetensors(folder + "/" + name));
    ++count;
  }
  ::closedir(list);
  return count;
}

/// Each line is the program's; how many are no warnings of what the run can do without.
int lines_but_warnings(std::string const& told) {
  int count = 0;
  for (std::size_t at = 0; at < told.size(); at = told.find('\n', at) + 1) {
    std::string const line = told.substr(at, told.find('\n', at) - at);
    CHECK(line.starts_with("faults: "));
    count += !line.starts_with("faults: warning: ");
  }
  return count;
}

/// All calls of a kind in turn; returns how many there were.
template <class P> long fail_each(faults::Kind kind, bool all, std::string_view told) {
  scratch::Folder const folder;
  std::string const path = folder / "checkpoint.safetensors";
  {  // one epoch: the checkpoint that must not be lost
    Result const first = run_with_fault<P>(folder.path(), "", faults::Kind::None, 0, false);
    REQUIRE(first.code == 0);
  }
  std::vector<unsigned char> const before = io::read_file(path);
  long call = 0, named = 0;
  for (;; ++call) {
    CAPTURE(call);
    io::write_file(path, before);
    Result const result = run_with_fault<P>(folder.path(), path, kind, call, all);
    INFO(result.told);
    REQUIRE((result.code == 0 || result.code == 2));
    CHECK(whole_checkpoints(folder.path()) > 0);
    CHECK_NOTHROW(io::load_safetensors(path));
    if (result.code == 2) {
      CHECK(result.told.starts_with("faults: "));
      CHECK(lines_but_warnings(result.told) <= 1);
      CHECK(result.told.size() > 30);
      CHECK(result.told.find("std::") == std::string::npos);
      named += scratch::has(result.told, told);
    }
    if (!result.struck) break;
  }
  CHECK(named > 0);
  MESSAGE(call << " calls");
  return call;
}

}  // namespace

TEST_CASE("every thread that cannot be started") {
  CHECK(fail_each<Together>(faults::Kind::Thread, false, "no further thread can be started") >= 2);
  CHECK(fail_each<Around>(faults::Kind::Thread, false, "no further thread can be started") >= 2);
}
TEST_CASE("every file operation that fails, alone and with all that follow") {
  CHECK(fail_each<Together>(faults::Kind::File, false, "nothing was changed") > 20);
  CHECK(fail_each<Together>(faults::Kind::File, true, "nothing was changed") > 20);
}
TEST_CASE("every allocation that fails, alone and with all that follow") {
  CHECK(fail_each<Together>(faults::Kind::Memory, false, "no memory") > 100);
  CHECK(fail_each<Together>(faults::Kind::Memory, true, "no memory") > 100);
}
TEST_CASE("every allocation of replicas around a server that fails") {
  CHECK(fail_each<Around>(faults::Kind::Memory, false, "no memory") > 100);
}
