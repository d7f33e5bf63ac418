// data/npy.cpp - two .npy files as a data set: values and classes, and files that do not belong together.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave/data/npy.hpp>
#include <cleave/io/file.hpp>
#include <cleave/layer/input.hpp>

#include "../io/scratch.hpp"

using namespace cleave;

namespace {

template <class T>
void write(std::string const& path, std::string const& descr, std::string const& shape, std::vector<T> const& data) {
  std::string head = "{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + ", }\n";
  std::string text = std::string("\x93NUMPY\x01\x00", 8) + static_cast<char>(head.size()) + '\0' + head;
  text.append(reinterpret_cast<char const*>(data.data()), data.size() * sizeof(T));
  io::write_file(path, {reinterpret_cast<unsigned char const*>(text.data()), text.size()});
}
using Pictures = Npy<Image<1, 2, 2>, Class<3>>;
using Songs = Npy<Vector<2>, Values<3>>;
static_assert(ClassDataset<Pictures> && Dataset<Songs>);

}  // namespace

TEST_CASE("rows of two files are samples: bytes with classes, numbers with values") {
  scratch::Folder const folder;
  write<std::uint8_t>(folder / "x.npy", "|u1", "(2, 2, 2)", {1, 2, 3, 4, 5, 6, 7, 255});
  write<std::int64_t>(folder / "y.npy", "<i8", "(2,)", {2, 1});
  Pictures const pictures(folder / "x.npy", folder / "y.npy");
  CHECK(pictures.size() == 2);
  std::vector<float> x(4);
  int label = 0;
  pictures.read(1, x, label);
  CHECK(x == std::vector<float>{5, 6, 7, 255});
  CHECK(label == 1);
  CHECK(pictures.label(0) == 2);

  write<float>(folder / "x.npy", "<f4", "(2, 2)", {1, 2, 3, 4});
  write<double>(folder / "t.npy", "<f8", "(2, 3)", {0, 1, 0, 1, 0, 0.5});
  Songs const songs(folder / "x.npy", folder / "t.npy");
  std::vector<float> in(2), targets(3);
  songs.read(1, in, targets);
  CHECK(in == std::vector<float>{3, 4});
  CHECK(targets == std::vector<float>{1, 0, 0.5f});
}
TEST_CASE("files that do not belong together, and labels that are no class, are refused") {
  scratch::Folder const folder;
  std::string const x = folder / "x.npy", y = folder / "y.npy";
  auto const told = [&](std::string const& what) {
    return scratch::has(scratch::message([&] { Pictures(x, y); }), what);
  };
  write<std::uint8_t>(x, "|u1", "(2, 3)", {1, 2, 3, 4, 5, 6});
  write<std::int32_t>(y, "<i4", "(2,)", {0, 3});
  CHECK(told("x.npy: rows of 3 numbers, but the data set's input has 4"));
  write<std::uint8_t>(x, "|u1", "(1, 4)", {1, 2, 3, 4});
  CHECK(told("y.npy: 2 rows, but "));
  write<std::uint8_t>(x, "|u1", "(2, 4)", {1, 2, 3, 4, 5, 6, 7, 8});
  CHECK_THROWS_WITH_AS(Pictures(x, y).label(1), doctest::Contains("y.npy, row 1: label 3, but there are 3 classes"),
                       Error);
  write<float>(y, "<f4", "(2,)", {0, 1});
  CHECK(told("y.npy: classes are whole numbers, these are 'f4'; save y.astype('int32')"));
  write<std::int32_t>(y, "<i4", "(1, 2)", {0, 1});
  CHECK(told("y.npy: rows of 2 numbers, but the data set's target has 1"));
}

TEST_CASE("classes of each position, of which some are ignored") {
  scratch::Folder const folder;
  write<std::int32_t>(folder / "x.npy", "<i4", "(2, 3)", {0, 1, 2, 3, 4, 5});
  write<std::int32_t>(folder / "y.npy", "<i4", "(2, 3)", {1, 0, 2, 3, -1, 0});
  using Windows = Npy<Vector<3>, Class<4, 3>>;
  static_assert(ClassDataset<Windows>);
  Windows const windows(folder / "x.npy", folder / "y.npy");
  std::vector<float> x(3);
  std::vector<int> y(3);
  windows.read(1, x, y);
  CHECK(x == std::vector<float>{3, 4, 5});
  CHECK(y == std::vector<int>{3, -1, 0});
  write<std::int32_t>(folder / "y.npy", "<i4", "(2, 3)", {1, 0, 2, 4, -1, 0});
  CHECK_THROWS_WITH_AS(Windows(folder / "x.npy", folder / "y.npy").read(1, x, y),
                       doctest::Contains("row 1: label 4, but there are 4 classes"), Error);
}
