// tests/fuzz/npy.cpp - an array of NumPy: every element of what is accepted lies in the file.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cleave/io/npy.hpp>

#include "fuzz.hpp"

using namespace cleave::io;

namespace {
std::string array(std::string const& head, std::size_t bytes) {
  return std::string("\x93NUMPY\x01\x00", 8) + static_cast<char>(head.size()) + '\0' + head + std::string(bytes, 'x');
}
}  // namespace

std::vector<std::string> fuzz::seeds() {
  return {array("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", 24),
          array("{'descr': '|u1', 'fortran_order': False, 'shape': (4,), }", 4),
          array("{'descr': '<i8', 'fortran_order': True, 'shape': (1, 18446744073709551615), }", 8)};
}

void fuzz::read(std::string_view input) {
  static File file;
  file.holding(input);
  NpyFile const npy(file.path());
  std::size_t const rows = npy.shape()[0], row = npy.row();
  if (rows == 0 || row == 0) return;
  check(rows * row <= input.size(), "elements lie in the file");
  std::vector<double> all(row);
  for (std::size_t r = 0; r < rows; ++r) npy.read(r * row, row, all.data());
}
