// tests/fuzz/cifar.cpp - one binary file of CIFAR-10.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cleave/io/cifar.hpp>

#include "fuzz.hpp"

using namespace cleave::io;

std::vector<std::string> fuzz::seeds() {
  std::string record(cifar_record, 'c');
  record[0] = 9;
  return {record, record + record, record.substr(1)};
}

void fuzz::read(std::string_view input) {
  static File file;
  Images images{.count = 0, .channels = 3, .height = 32, .width = 32, .pixels = {}, .labels = {}};
  append_cifar(images, file.holding(input));
  check(static_cast<std::size_t>(images.count) * cifar_record == input.size(), "every record is a picture");
  for (int i = 0; i < images.count; ++i) check(images.label(i) >= 0 && images.label(i) <= 9, "labels go from 0 to 9");
}
