// tests/fuzz/checkpoint.cpp - checkpoints of a small plan, their checksums put right so that what lies behind is reached.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "checkpoint.hpp"

std::vector<std::string> fuzz::seeds() { return {saved()}; }

void fuzz::read(std::string_view input) {
  static File file;
  load(file.holding(with_checksums(std::string(input))));
}
