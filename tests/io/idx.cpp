// tests/io/idx.cpp - MNIST files read as their headers say, and refused when they do not add up.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>

#include <cleave/io/idx.hpp>

#include "scratch.hpp"

using namespace cleave::io;
using scratch::has;

namespace {

using File = std::vector<unsigned char>;

File const pictures{0, 0, 8, 3, 0, 0, 0, 3, 0, 0, 0, 1, 0, 0, 0, 2, 10, 11, 20, 21, 30, 31};
File const labels{0, 0, 8, 1, 0, 0, 0, 3, 9, 0, 4};

File with(File file, std::size_t at, unsigned char value) {
  file[at] = value;
  return file;
}

File cut(File file, std::size_t by) {
  file.resize(file.size() - by);
  return file;
}

std::string refusal(File const& picture_file, File const& label_file) {
  scratch::Folder const folder;
  write_file(folder / "train-images-idx3-ubyte", picture_file);
  write_file(folder / "train-labels-idx1-ubyte", label_file);
  return scratch::message([&] { read_mnist(folder.path(), Split::Train); });
}

}  // namespace

TEST_CASE("io/idx: counts and sizes are those of the header") {
  scratch::Folder const folder;
  make_folder(folder / "mnist");
  write_file(folder / "mnist/t10k-images-idx3-ubyte", pictures);
  write_file(folder / "mnist/t10k-labels-idx1-ubyte", labels);
  for (std::string const& where : {folder.path(), folder / "mnist"}) {
    Images const images = read_mnist(where, Split::Test);
    CHECK(images.count == 3);
    CHECK(images.channels == 1);
    CHECK(images.height == 1);
    CHECK(images.width == 2);
    CHECK(images.pixels == File{10, 11, 20, 21, 30, 31});
    CHECK(images.labels == File{9, 0, 4});
  }
  CHECK(read_mnist(folder.path(), Split::Test, 2).pixels == File{10, 11, 20, 21});
  CHECK(has(scratch::message([&] { read_mnist(folder.path(), Split::Train); }), "train-images-idx3-ubyte: not found"));
}

TEST_CASE("io/idx: what does not add up is refused with the file and the numbers") {
  CHECK(refusal(pictures, labels).empty());
  CHECK(has(refusal(with(pictures, 3, 1), labels), "begins with the number 2049 instead of 2051"));
  CHECK(has(refusal(pictures, with(labels, 2, 9)), "train-labels-idx1-ubyte: not the IDX file"));
  CHECK(has(refusal(with(pictures, 0, 0x1F), labels), "gunzip"));
  CHECK(has(refusal(cut(pictures, 1), labels), "cut short: 21 bytes, its header asks for 22"));
  CHECK(has(refusal(cut(pictures, 7), labels), "an IDX header takes 16"));
  CHECK(has(refusal(File{}, labels), "cut short: 0 bytes"));
  CHECK(has(refusal(pictures, cut(labels, 1)), "cut short: 10 bytes, its header asks for 11"));
  CHECK(has(refusal(with(pictures, 7, 2), labels), "bytes left over: 22 bytes, its header asks for 20"));
  CHECK(has(refusal(pictures, with(cut(labels, 1), 7, 2)), "2 labels, but"));
  CHECK(has(refusal(pictures, with(labels, 9, 10)), "label 10 at position 1"));
}

TEST_CASE("io/idx: extents whose product wraps are refused") {
  // 2^31 * 2^31 * 4 = 2^64, which wraps to 0.
  File const huge{0, 0, 8, 3, 0x80, 0, 0, 0, 0x80, 0, 0, 0, 0, 0, 0, 4};
  CHECK(has(refusal(huge, labels), "claims more than"));
  File const empty{0, 0, 8, 3, 0, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 1};
  CHECK_FALSE(refusal(empty, labels).empty());
}
