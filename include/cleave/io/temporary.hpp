// io/temporary.hpp - temporary files with unique names; those of dead processes are removed.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cleave/io/descriptor.hpp>
#include <cleave/meta/error.hpp>
#include <cstddef>
#include <cstdio>
#include <ctime>
#include <string>
#include <string_view>
#include <utility>

namespace cleave::io {

// "checkpoint.safetensors.new-1a2b3c4d-0123456789abcdef": the machine's boot, then 64 random bits. Process ids would be
// reused in the next container. The writer holds the file's lock (flock), which ends with the process.

/// Eight hexadecimal digits that differ between machines and between boots of one; zeros where the system has none.
inline std::string boot_mark() {
  std::string text(8, '0');
  Descriptor const file(::open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC));
  char id[8];
  if (file.number() >= 0 && ::read(file.number(), id, sizeof id) == sizeof id) text.assign(id, sizeof id);
  return text;
}

/// The mark of the boot in a temporary's name; empty where the name is none.
inline std::string_view boot_of_temporary(std::string_view name) {
  constexpr std::size_t size = 5 + 8 + 1 + 16;
  std::string_view const end = name.substr(name.size() - std::min(size, name.size()));
  if (name.size() <= size || !end.starts_with(".new-") || end[13] != '-') return {};
  std::string_view const boot = end.substr(5, 8), random = end.substr(14);
  for (std::string_view const part : {boot, random})
    if (part.find_first_not_of("0123456789abcdef") != std::string_view::npos) return {};
  return boot;
}

/// Removes a temporary if it is a plain file of this user, its writer is dead and it still has this name. A lock may
/// not be seen from another machine: what was written under another boot must not have changed for a day either.
inline void remove_if_stale(int folder, char const* name, bool of_this_boot) {
  struct stat named {
  }, held{};
  auto const ours = [&](struct stat const& s) { return S_ISREG(s.st_mode) && s.st_uid == ::geteuid(); };
  if (::fstatat(folder, name, &named, AT_SYMLINK_NOFOLLOW) != 0 || !ours(named)) return;
  if (!of_this_boot && std::time(nullptr) - named.st_mtime < 24 * 60 * 60) return;
  Descriptor const file(::openat(folder, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (file.number() < 0 || ::flock(file.number(), LOCK_EX | LOCK_NB) != 0 || ::fstat(file.number(), &held) != 0) return;
  // Its writer may have given it its final name, and another file may have this one.
  if (::fstatat(folder, name, &named, AT_SYMLINK_NOFOLLOW) != 0 || !ours(named)) return;
  if (named.st_dev == held.st_dev && named.st_ino == held.st_ino) ::unlinkat(folder, name, 0);
}

/// Removes the temporary files of dead processes in a folder. Files that cannot be removed are kept.
inline void remove_stale_temporaries(std::string const& folder) {
  DIR* const list = ::opendir(folder.c_str());
  if (list == nullptr) return;
  std::string const boot = boot_mark();
  while (dirent const* const entry = ::readdir(list)) {
    std::string_view const of = boot_of_temporary(entry->d_name);
    if (!of.empty()) remove_if_stale(::dirfd(list), entry->d_name, of == boot && boot != "00000000");
  }
  ::closedir(list);
}

/// A new file beside `target`, locked while it is written; removed again unless it takes its target's name.
class Temporary {
 public:
  /// If no file can be created, `code()` says why.
  [[gnu::cold]] explicit Temporary(std::string target) : target_(std::move(target)) {
    std::string const start = meta::joined({target_, ".new-", boot_mark(), "-"});
    for (int attempt = 0; attempt < 100; ++attempt) {
      path_ = start + random_digits();
      file_ = Descriptor(::open(path_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666));
      code_ = file_.number() < 0 ? errno : 0;
      if (code_ == 0 && locked()) return;
      if (code_ != 0 && code_ != EEXIST) break;
      code_ = EEXIST;
    }
    file_ = Descriptor(-1);
    path_.clear();
  }
  Temporary(Temporary const&) = delete;
  Temporary& operator=(Temporary const&) = delete;
  ~Temporary() {
    if (!path_.empty()) ::unlink(path_.c_str());
  }

  int number() const { return file_.number(); }
  int code() const { return code_; }

  /// Syncs the bytes to disk and renames the file to the target. Returns 0, or the errno of what failed.
  int land() {
    if (::fsync(file_.number()) != 0) return errno;
    // A second descriptor keeps the lock until the rename; closing the first one may report a failed write.
    Descriptor const lock(::fcntl(file_.number(), F_DUPFD_CLOEXEC, 0));
    if (lock.number() < 0) return errno;
    if (int const code = file_.close(); code != 0) return code;
    if (::rename(path_.c_str(), target_.c_str()) != 0) return errno;
    path_.clear();
    return 0;
  }

 private:
  static std::string random_digits() {
    unsigned of[2];
    if (::getentropy(of, sizeof of) != 0) throw Error("the system gives no random numbers");
    char text[17];
    std::snprintf(text, sizeof text, "%08x%08x", of[0], of[1]);
    return text;
  }

  /// Whether the file is locked and still has its name; a process that removes stale files may have come first. A file
  /// system without locks has no such process.
  bool locked() const {
    if (::flock(file_.number(), LOCK_EX | LOCK_NB) != 0) return errno != EWOULDBLOCK;
    struct stat about {};
    return ::fstat(file_.number(), &about) == 0 && about.st_nlink > 0;
  }

  std::string target_, path_;
  Descriptor file_{-1};
  int code_ = EEXIST;
};

}  // namespace cleave::io
