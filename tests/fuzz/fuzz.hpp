// tests/fuzz/fuzz.hpp - what every fuzzer shares: its inputs come from libFuzzer, an Error is a good end, all else is a defect.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cleave/io/file.hpp>
#include <cleave/meta/error.hpp>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace fuzz {

// Each fuzzer defines these two.
std::vector<std::string> seeds();   ///< Inputs to begin with: some good, some nearly.
void read(std::string_view input);  ///< Reads one input and checks what it has read.

inline void check(bool holds, char const* what) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n", what);
  std::abort();
}

/// A file in memory under a name that can be opened.
class File {
 public:
  File() : number_(::memfd_create("fuzz", 0)), path_("/proc/self/fd/" + std::to_string(number_)) {}
  std::string const& holding(std::string_view bytes) {
    check(::ftruncate(number_, 0) == 0 &&
              ::pwrite(number_, bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()),
          "a file in memory is written");
    return path_;
  }
  std::string const& path() const { return path_; }

 private:
  int number_;
  std::string path_;
};

inline std::string text_of(std::vector<unsigned char> const& bytes) { return {bytes.begin(), bytes.end()}; }

inline std::vector<std::string> split(std::string_view text, char at) {
  std::vector<std::string> parts(1);
  for (char const c : text) {
    if (c == at) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

}  // namespace fuzz

/// An input allocates little: what it frees is held back for long enough in 8 MB, which stay in a cache.
extern "C" char const* __asan_default_options() { return "quarantine_size_mb=8:malloc_context_size=8"; }

/// `PROGRAM --seeds FOLDER` writes the inputs to begin with.
extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  if (*argc != 3 || std::strcmp((*argv)[1], "--seeds") != 0) return 0;
  int number = 0;
  for (std::string const& seed : fuzz::seeds()) {
    cleave::io::write_file((*argv)[2] + ("/" + std::to_string(number++)),
                           cleave::io::Bytes(reinterpret_cast<unsigned char const*>(seed.data()), seed.size()));
  }
  std::exit(0);
}

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* bytes, std::size_t size) {
  try {
    fuzz::read({reinterpret_cast<char const*>(bytes), size});
  } catch (cleave::Error const& e) {
    fuzz::check(std::strlen(e.what()) > 10, "an Error says something");
  }
  return 0;
}
