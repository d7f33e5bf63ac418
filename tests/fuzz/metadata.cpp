// tests/fuzz/metadata.cpp - a sound checkpoint with other metadata: the input is its step, seed and the rest, a line each.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "checkpoint.hpp"

std::vector<std::string> fuzz::seeds() {
  return {"7\n3",  "abc\n3", "100000000000000000000\n3", "-3\n3", "9000000000000000000\n3", "7\n18446744073709551616",
          "7\n-1", "7",      "7\n3\nplan of another"};
}

void fuzz::read(std::string_view input) {
  static std::string const sound = saved();
  static File file;
  std::size_t const length = static_cast<unsigned char>(sound[0]) + 256U * static_cast<unsigned char>(sound[1]);
  std::string header = sound.substr(8, length);
  std::vector<std::string> const lines = split(input, '\n');
  std::string const keys[] = {"step", "seed", "plan"};
  for (std::size_t line = 0; line < lines.size() && line < std::size(keys); ++line) {
    std::string const start = "\"" + keys[line] + "\":";
    std::size_t const at = header.find(start) + start.size();
    header.replace(at, header.find('"', at + 1) + 1 - at, cleave::io::quote(lines[line]));
  }
  std::string size(8, '\0');
  for (std::size_t i = 0; i < 8; ++i) size[i] = static_cast<char>(header.size() >> 8 * i);
  load(file.holding(with_checksums(size + header + sound.substr(8 + length))));
}
