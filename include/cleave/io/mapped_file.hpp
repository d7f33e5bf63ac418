// io/mapped_file.hpp - a file's bytes in memory without reading it: pages come as they are used.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstddef>
#include <span>
#include <string>
#include <utility>

#include "../meta/error.hpp"
#include "descriptor.hpp"

namespace cleave::io {

/// Read-only. The file must not become shorter while it is mapped. Throws Error where it cannot be opened or mapped.
class MappedFile {
 public:
  explicit MappedFile(std::string const& path) {
    Descriptor const file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    struct stat about {};
    if (file.number() < 0 || ::fstat(file.number(), &about) != 0)
      throw Error({path, ": cannot open this file for reading: ", errno_text(errno)});
    if (!S_ISREG(about.st_mode)) throw Error({path, ": is no regular file, which alone can be mapped"});
    size_ = static_cast<std::size_t>(about.st_size);
    if (size_ == 0) return;
    void* const at = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file.number(), 0);
    if (at == MAP_FAILED) throw Error({path, ": cannot be mapped: ", errno_text(errno)});
    data_ = static_cast<unsigned char const*>(at);
  }
  MappedFile(MappedFile&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  MappedFile& operator=(MappedFile&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~MappedFile() {
    if (data_) ::munmap(const_cast<unsigned char*>(data_), size_);
  }

  std::span<unsigned char const> bytes() const { return {data_, size_}; }

 private:
  unsigned char const* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace cleave::io
