// tests/io/crashes.cpp - a save that is killed or loses its power at any point leaves the old checkpoint or the new one.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include <atomic>
#include <cleave/io/safetensors.hpp>
#include <csignal>
#include <cstdarg>
#include <cstring>
#include <map>

#include "scratch.hpp"

using namespace cleave::io;

namespace {

/// One call that a save makes of the system, as it was made.
struct Call {
  enum What { Create, Write, SyncFile, SyncFolder, Rename, Unlink } what;
  std::string path, to;
  std::string data;
};

bool recording = false;
std::vector<Call> calls;
std::map<int, std::string> path_of;
long kill_before = -1;  // the call before which this process kills itself

void note(Call call) {
  if (kill_before == 0) ::raise(SIGKILL);
  if (kill_before > 0) --kill_before;
  if (recording) calls.push_back(std::move(call));
}
template <class F> F* real(F*, char const* name) { return reinterpret_cast<F*>(::dlsym(RTLD_NEXT, name)); }
bool watched(int file) { return path_of.count(file) > 0; }

}  // namespace

extern "C" int open(char const* path, int flags, ...) {
  static auto* const next = real(&::open, "open");
  std::va_list more;
  va_start(more, flags);
  auto const mode = static_cast<mode_t>((flags & O_CREAT) ? va_arg(more, int) : 0);
  va_end(more);
  bool const of_interest = (recording || kill_before >= 0) && (flags & (O_CREAT | O_DIRECTORY));
  if (of_interest && (flags & O_CREAT)) note({Call::Create, path, {}, {}});
  int const file = next(path, flags, mode);
  if (of_interest) path_of[file] = path;
  return file;
}
extern "C" int close(int file) {
  static auto* const next = real(&::close, "close");
  path_of.erase(file);
  return next(file);
}
extern "C" ssize_t write(int file, void const* from, std::size_t size) {
  static auto* const next = real(&::write, "write");
  if (watched(file)) {
    // In two parts, between which the process may be killed.
    std::size_t const part = size > 1 ? size / 2 : size;
    note({Call::Write, path_of[file], {}, {static_cast<char const*>(from), part}});
    return next(file, from, part);
  }
  return next(file, from, size);
}
extern "C" int fsync(int file) {
  static auto* const next = real(&::fsync, "fsync");
  if (watched(file)) {
    struct stat about {};
    ::fstat(file, &about);
    note({S_ISDIR(about.st_mode) ? Call::SyncFolder : Call::SyncFile, path_of[file], {}, {}});
  }
  return next(file);
}
extern "C" int rename(char const* from, char const* to) noexcept {
  static auto* const next = real(&::rename, "rename");
  note({Call::Rename, from, to, {}});
  return next(from, to);
}
extern "C" int unlink(char const* path) noexcept {
  static auto* const next = real(&::unlink, "unlink");
  note({Call::Unlink, path, {}, {}});
  return next(path);
}

namespace {

void save_version(std::string const& path, int version, std::size_t floats) {
  std::vector<float> const values(floats, static_cast<float>(version));
  Bytes const bytes(reinterpret_cast<unsigned char const*>(values.data()), 4 * floats);
  save_safetensors(path, {{"w", Dtype::F32, {floats}, bytes}}, {{"version", std::to_string(version)}});
}
int version_of(SafeTensors const& file) { return std::stoi(*file.find_metadata("version")); }

std::string text_of(std::string const& path) {
  std::vector<unsigned char> const bytes = read_file(path);
  return {bytes.begin(), bytes.end()};
}

std::vector<Call> recorded_save(std::string const& path, int version) {
  calls.clear();
  recording = true;
  save_version(path, version, 64);
  recording = false;
  return calls;
}

/// What a disk may hold after the power is lost: of each file what was synced, or any of what was written since; of the
/// folder's names what was synced, with any of the changes since.
class Disk {
 public:
  Disk(std::string target, std::string content) : target_(std::move(target)) {
    if (content.empty()) return;
    file_of_[target_] = 0;
    synced_.push_back(content);
    written_.push_back(std::move(content));
  }

  void apply(Call const& call) {
    switch (call.what) {
      case Call::Create:
        names_[call.path] = written_.size();
        synced_.emplace_back();
        written_.emplace_back();
        break;
      case Call::Write:
        written_[names_.at(call.path)] += call.data;
        break;
      case Call::SyncFile:
        synced_[names_.at(call.path)] = written_[names_.at(call.path)];
        break;
      case Call::Rename:
        REQUIRE(call.to == target_);
        pending_.push_back(names_.at(call.path));
        break;
      case Call::SyncFolder:
        if (!pending_.empty()) file_of_[target_] = pending_.back();
        pending_.clear();
        break;
      case Call::Unlink:
        break;
    }
  }

  /// All that the target may hold; an empty text where it may be missing.
  std::vector<std::string> after_power_loss() const {
    std::vector<std::size_t> files = pending_;
    std::vector<std::string> all;
    if (file_of_.count(target_)) {
      files.push_back(file_of_.at(target_));
    } else {
      all.emplace_back();
    }
    for (std::size_t const file : files) {
      std::string const &synced = synced_[file], &written = written_[file];
      for (std::size_t size = synced.size(); size <= written.size(); ++size) all.push_back(written.substr(0, size));
      if (synced != written) all.push_back(synced + std::string(written.size() - synced.size(), '\0'));
    }
    return all;
  }

 private:
  std::string target_;
  std::map<std::string, std::size_t> file_of_, names_;  // the target's as synced; the temporaries'
  std::vector<std::size_t> pending_;                    // renamed to the target since
  std::vector<std::string> synced_, written_;
};

struct Found {
  int states = 0, torn = 0, lost = 0;  // lost: the save has returned, and its file is not there
};
Found lose_power(std::vector<Call> const& made, std::string const& path, std::string const& before,
                 std::string const& after) {
  Found found;
  for (std::size_t length = 0; length <= made.size(); ++length) {
    Disk disk(path, before);
    for (std::size_t i = 0; i < length; ++i) disk.apply(made[i]);
    for (std::string const& held : disk.after_power_loss()) {
      ++found.states;
      found.torn += held != before && held != after;
      found.lost += length == made.size() && held != after;
    }
  }
  return found;
}
std::vector<Call> without(std::vector<Call> made, Call::What what) {
  std::erase_if(made, [&](Call const& c) { return c.what == what; });
  return made;
}

int files_in(std::string const& folder) {
  DIR* const list = ::opendir(folder.c_str());
  int count = 0;
  while (dirent const* const entry = ::readdir(list)) count += entry->d_name[0] != '.';
  ::closedir(list);
  return count;
}

}  // namespace

TEST_CASE("io/crashes: after power is lost at any point of a save the old checkpoint or the new one is there") {
  scratch::Folder const folder;
  std::string const path = folder / "x";
  std::vector<Call> const first = recorded_save(path, 1);
  std::string const one = text_of(path);
  std::vector<Call> const second = recorded_save(path, 2);
  std::string const two = text_of(path);
  CHECK(version_of(load_safetensors(path)) == 2);
  for (auto const& [made, before, after] : {std::tuple(first, std::string(), one), std::tuple(second, one, two)}) {
    Found const found = lose_power(made, path, before, after);
    CHECK(found.states > 10);
    CHECK(found.torn == 0);
    CHECK(found.lost == 0);
    // A save that left one of its syncs out would be seen.
    CHECK(lose_power(without(made, Call::SyncFile), path, before, after).torn > 0);
    CHECK(lose_power(without(made, Call::SyncFolder), path, before, after).lost > 0);
  }
}

TEST_CASE(
    "200 kills while saving leave whole checkpoints, none is lost, and what they left is removed; CLEAVE_KILLS says "
    "how many") {
  char const* const asked = std::getenv("CLEAVE_KILLS");
  int const kills = asked ? std::atoi(asked) : 200;
  scratch::Folder const folder;
  std::string const path = folder / "x";
  auto* const returned =
      static_cast<std::atomic<int>*>(::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  save_version(path, 0, 50000);
  *returned = 0;
  int torn = 0, lost = 0, left = 0;
  for (int round = 0; round < kills; ++round) {
    int const begin = version_of(load_safetensors(path));
    pid_t const child = ::fork();
    if (child == 0) {
      kill_before = round % 2 == 0 ? round / 2 % 45 : -1;  // some calls of the first saves; the others by the clock
      for (int version = begin + 1;; ++version) {
        save_version(path, version, 50000);
        *returned = version;
      }
    }
    if (round % 2 == 1) {
      ::usleep(static_cast<useconds_t>(997 * round % 12000));
      ::kill(child, SIGKILL);
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(WIFSIGNALED(status));
    try {
      SafeTensors const file = load_safetensors(path);
      lost += version_of(file) < *returned;
      std::vector<float> values(50000);
      std::memcpy(values.data(), file.find("w")->bytes.data(), 200000);
      torn += values != std::vector<float>(50000, static_cast<float>(version_of(file)));
    } catch (cleave::Error const&) {
      ++torn;
    }
    left += files_in(folder.path()) - 1;
  }
  CHECK(torn == 0);
  CHECK(lost == 0);
  CHECK(left > 0);  // some were killed with a temporary; each save removes what the one before has left
  CHECK(left < kills);
  save_version(path, 1000000, 10);
  CHECK(files_in(folder.path()) == 1);
}
