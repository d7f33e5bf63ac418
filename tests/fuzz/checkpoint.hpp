// tests/fuzz/checkpoint.hpp - a small plan, and what must hold when a file was loaded into it, or refused.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cleave.hpp>

#include "fuzz.hpp"

namespace fuzz {

struct Net : cleave::Sequential<cleave::Vector<2>, cleave::Linear<2>, cleave::CrossEntropy> {};
struct Train : cleave::Plan<Net, cleave::Batch<2>, cleave::Momentum, cleave::DataParallel<cleave::Sync>> {};

inline std::vector<float> weights(cleave::Trainer<Train>& trainer) {
  std::vector<float> all;
  for (auto const& kept : cleave::session::kept<Train>())
    for (float const value : cleave::session::whole(trainer, kept)) all.push_back(value);
  return all;
}

/// A refused file must leave every weight and the step as they were.
inline void load(std::string const& path) {
  static cleave::Trainer<Train> trainer(1, 3);
  static std::vector<float> before = weights(trainer);
  long const steps = trainer.steps();
  try {
    cleave::session::load(trainer, path);
    check(trainer.steps() >= 0, "steps are counted from 0");
    before = weights(trainer);
  } catch (cleave::Error const&) {
    std::vector<float> const after = weights(trainer);
    check(std::memcmp(before.data(), after.data(), before.size() * sizeof(float)) == 0 && trainer.steps() == steps,
          "a refused checkpoint changes nothing");
    throw;
  }
}

inline std::string saved() {
  std::string const path = "/tmp/cleave-fuzz-" + std::to_string(::getpid());
  cleave::Trainer<Train> trainer(1, 3);
  cleave::session::save(trainer, path, 3);
  std::string const bytes = text_of(cleave::io::read_file(path));
  ::unlink(path.c_str());
  return bytes;
}

/// The same file with the checksums that its bytes ask for, where it has a place for them.
inline std::string with_checksums(std::string file) {
  if (file.size() < 8) return file;
  std::uint64_t length = 0;
  for (std::size_t i = 8; i-- > 0;) length = length << 8 | static_cast<unsigned char>(file[i]);
  if (length > file.size() - 8) return file;
  auto const put = [&](std::string_view mark, std::uint32_t value) {
    std::size_t const at = file.find(mark, 8);
    if (at != std::string::npos && at + mark.size() + 8 <= 8 + length)
      file.replace(at + mark.size(), 8, cleave::io::hex(value));
  };
  cleave::io::Crc32c payload;
  payload.add(cleave::io::bytes_of(std::string_view(file).substr(8 + length)));
  put("\"checksum\":\"crc32c:", payload.value());
  auto const header = cleave::io::header_checksum(std::string_view(file).substr(8, length));
  if (header) put(cleave::io::header_checksum_mark, *header);
  return file;
}

}  // namespace fuzz
