// tests/io/scratch.hpp - a fresh folder for one test, gone when it ends.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <ftw.h>
#include <unistd.h>

#include <cleave/meta/error.hpp>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace scratch {

class Folder {
 public:
  Folder() {
    char const* const base = std::getenv("TMPDIR");
    path_ = std::string(base == nullptr ? "/tmp" : base) + "/cleave-io-XXXXXX";
    if (::mkdtemp(path_.data()) == nullptr) std::abort();
  }
  Folder(Folder const&) = delete;
  Folder& operator=(Folder const&) = delete;
  ~Folder() {
    auto const drop = [](char const* path, struct stat const*, int, FTW*) { return std::remove(path); };
    ::nftw(path_.c_str(), drop, 16, FTW_DEPTH | FTW_PHYS);
  }

  std::string operator/(std::string const& name) const { return path_ + "/" + name; }
  std::string const& path() const { return path_; }

 private:
  std::string path_;
};

inline std::vector<unsigned char> bytes(std::string_view text) { return {text.begin(), text.end()}; }

/// The message of the Error that `what` throws; empty when it throws none.
template <typename What> std::string message(What&& what) {
  try {
    what();
  } catch (cleave::Error const& error) {
    return error.what();
  }
  return "";
}

inline bool has(std::string const& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace scratch
