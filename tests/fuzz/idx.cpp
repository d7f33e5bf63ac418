// tests/fuzz/idx.cpp - the two files of an MNIST set: two bytes say how long the first is.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cleave/io/idx.hpp>

#include "fuzz.hpp"

using namespace cleave::io;

namespace {
std::string number(unsigned value) {
  return {static_cast<char>(value >> 24), static_cast<char>(value >> 16), static_cast<char>(value >> 8),
          static_cast<char>(value)};
}
std::string set(std::string const& pictures, std::string const& labels) {
  return number(static_cast<unsigned>(pictures.size())).substr(2) + pictures + labels;
}
}  // namespace

std::vector<std::string> fuzz::seeds() {
  std::string const pictures = number(0x803) + number(3) + number(2) + number(2) + std::string(12, 'p');
  std::string const labels = number(0x801) + number(3) + std::string("\1\2\3");
  return {set(pictures, labels), set(number(0x803) + number(1U << 31) + number(1U << 31) + number(4), labels)};
}

void fuzz::read(std::string_view input) {
  static File pictures, labels;
  static std::string const folder = [] {
    std::string path = "sets-XXXXXX";
    check(::mkdtemp(path.data()) != nullptr, "a folder is made");
    check(::symlink(pictures.path().c_str(), (path + "/train-images-idx3-ubyte").c_str()) == 0 &&
              ::symlink(labels.path().c_str(), (path + "/train-labels-idx1-ubyte").c_str()) == 0,
          "links are made");
    return path;
  }();
  if (input.size() < 2) return;
  std::size_t const first = static_cast<std::size_t>(static_cast<unsigned char>(input[0])) << 8 |
                            static_cast<std::size_t>(static_cast<unsigned char>(input[1]));
  std::string_view const files = input.substr(2);
  pictures.holding(files.substr(0, first));
  labels.holding(files.substr(std::min(first, files.size())));
  Images const images = read_mnist(folder, Split::Train);
  std::size_t sum = 0;
  for (int i = 0; i < images.count; ++i) {
    for (unsigned char const pixel : images.picture(i)) sum += pixel;
    check(images.label(i) >= 0 && images.label(i) <= 9, "labels go from 0 to 9");
  }
  check(sum <= 255 * images.pixels.size(), "pictures lie in what was read");
}
