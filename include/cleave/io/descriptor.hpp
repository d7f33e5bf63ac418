// io/descriptor.hpp - a POSIX file descriptor and the text of an errno.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <unistd.h>

#include <cerrno>
#include <string>
#include <system_error>
#include <utility>

namespace cleave::io {

/// The text of an errno value, as in "No space left on device".
inline std::string errno_text(int code) { return std::generic_category().message(code); }

/// Owns one POSIX file descriptor; -1 owns none.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor&& o) noexcept : number_(std::exchange(o.number_, -1)) {}
  Descriptor& operator=(Descriptor&& o) noexcept {
    std::swap(number_, o.number_);
    return *this;
  }
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  int number() const { return number_; }
  /// Some file systems report a failed write only here, so the answer matters. 0, or the errno.
  int close() { return ::close(std::exchange(number_, -1)) == 0 ? 0 : errno; }

 private:
  int number_;
};

}  // namespace cleave::io
