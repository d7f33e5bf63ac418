// io/token_file.hpp - a file of tokens, mapped: llm.c's .bin, an array of NumPy, or numbers of 16 or 32 bits alone.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <string>

#include "mapped_file.hpp"
#include "npy.hpp"

namespace cleave {

/// What a file of tokens is. By its beginning: llm.c's .bin (256 numbers of 32 bits, then tokens of 16 bits for GPT-2
/// or of 32 for Llama 3), or .npy. U16 and U32: tokens alone, little-endian, as nanoGPT writes them.
enum class TokenFormat { ByItsBeginning, U16, U32 };

namespace io {

/// Tokens by their number; one above 2^31 is read as -1. Throws Error where the file is another one.
class TokenFile {
 public:
  explicit TokenFile(std::string const& path, TokenFormat format = TokenFormat::ByItsBeginning)
      : file_(path), bytes_(format == TokenFormat::U32 ? 4 : 2) {
    static_assert(std::endian::native == std::endian::little);
    if (format != TokenFormat::ByItsBeginning) {
      count(path, file_.bytes().size());
      return;
    }
    std::uint32_t header[3]{};
    if (file_.bytes().size() >= header_bytes) std::memcpy(header, file_.bytes().data(), sizeof header);
    bool const of_16 = header[0] == 20240520 && header[1] == 1, of_32 = header[0] == 20240801 && header[1] == 7;
    if (of_16 || of_32) {
      bytes_ = of_32 ? 4 : 2;
      from_ = header_bytes;
      count(path, file_.bytes().size() - header_bytes);
      if (size_ != static_cast<long>(header[2]))
        throw Error({path, ": its header tells of ", static_cast<long>(header[2]), " tokens, but ", size_, " follow"});
      return;
    }
    if (file_.bytes().size() < 6 || std::memcmp(file_.bytes().data(), "\x93NUMPY", 6) != 0)
      throw Error({path, ": begins neither as llm.c's .bin nor as a .npy file; for tokens alone say TokenFormat::U16"});
    array_.emplace(path);
    if (array_->shape().size() != 1 || !array_->whole_numbers())
      throw Error({path, ": tokens are one row of whole numbers, and these are '", array_->type(), "' in ",
                   array_->shape().size(), " dimensions"});
    size_ = static_cast<long>(array_->shape()[0]);
  }

  long size() const { return size_; }
  int operator[](long i) const {
    double token = 0;
    if (array_) {
      array_->read(static_cast<std::size_t>(i), 1, &token);
    } else {
      std::uint32_t alone = 0;
      std::memcpy(&alone, file_.bytes().data() + from_ + static_cast<std::size_t>(i) * bytes_, bytes_);
      token = alone;
    }
    return token < 0 || token > std::numeric_limits<int>::max() ? -1 : static_cast<int>(token);
  }

 private:
  static constexpr std::size_t header_bytes = 1024;

  void count(std::string const& path, std::size_t bytes) {
    if (bytes % bytes_ != 0) throw Error({path, ": ", bytes, " bytes are no whole number of tokens of ", bytes_});
    size_ = static_cast<long>(bytes / bytes_);
  }

  MappedFile file_;
  std::optional<NpyFile> array_;
  std::size_t bytes_, from_ = 0;
  long size_ = 0;
};

}  // namespace io
}  // namespace cleave
