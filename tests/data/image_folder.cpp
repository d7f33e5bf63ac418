// data/image_folder.cpp - folders of pictures: classes by folder, colours and grey, resizing; what is no picture.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave/data/image_folder.hpp>
#include <cleave/layer/input.hpp>

#define STB_IMAGE_WRITE_STATIC
#define STB_IMAGE_WRITE_IMPLEMENTATION
#if __has_include(<stb_image_write.h>)
#include <stb_image_write.h>
#else
#include <stb/stb_image_write.h>
#endif

#include <cstdlib>

#include "../io/scratch.hpp"

using namespace cleave;

namespace {

/// A picture of one colour, with a corner of another one.
std::vector<unsigned char> colours(int width, int height) {
  std::vector<unsigned char> rgb;
  for (int i = 0; i < width * height; ++i)
    for (int c : {200, 100, 50}) rgb.push_back(static_cast<unsigned char>(i == 0 ? 255 - c : c));
  return rgb;
}
using Pets = ImageFolder<Image<3, 2, 3>, Class<2>>;
static_assert(ClassDataset<Pets>);

struct PetFolder {
  scratch::Folder folder;
  PetFolder() {
    for (char const* name : {"dog", "cat", ".hidden"}) io::make_folder(folder / name);
    stbi_write_png((folder / "dog/b.png").c_str(), 3, 2, 3, colours(3, 2).data(), 9);
    stbi_write_bmp((folder / "dog/a.BMP").c_str(), 3, 2, 3, colours(3, 2).data());
    stbi_write_jpg((folder / "cat/large.jpeg").c_str(), 30, 20, 3, colours(30, 20).data(), 100);
    io::write_file(folder / "cat/notes.txt", std::vector<unsigned char>{'a'});
  }
};

}  // namespace

TEST_CASE("folders are classes in sorted order, and pictures are (c, h, w) of 0 to 255") {
  PetFolder const made;
  Pets const pets(made.folder.path());
  CHECK(pets.size() == 3);
  CHECK(pets.class_names() == std::vector<std::string>{"cat", "dog"});
  CHECK(pets.file(1).ends_with("dog/a.BMP"));
  CHECK(pets.label(0) == 0);
  CHECK(pets.label(2) == 1);
  for (long i : {1, 2}) {
    std::vector<float> x(18);
    int y = -1;
    pets.read(i, x, y);
    CHECK(y == 1);
    CHECK(x == std::vector<float>{55, 200, 200, 200, 200, 200, 155, 100, 100, 100, 100, 100, 205, 50, 50, 50, 50, 50});
  }
  std::vector<float> x(18);
  int y = -1;
  pets.read(0, x, y);  // resized, and of JPEG: about so
  CHECK(y == 0);
  for (std::size_t p = 1; p < 6; ++p) {
    CHECK(std::abs(x[p] - 200) < 4);
    CHECK(std::abs(x[6 + p] - 100) < 4);
    CHECK(std::abs(x[12 + p] - 50) < 4);
  }
}
TEST_CASE("a grey input has one channel of each picture") {
  PetFolder const made;
  ImageFolder<Image<1, 2, 3>, Class<2>> const pets(made.folder.path());
  std::vector<float> x(6);
  int y = -1;
  pets.read(2, x, y);
  CHECK(x[0] != x[1]);
  CHECK(x[1] == x[5]);
  CHECK(x[1] > 100);
  CHECK(x[1] < 140);
}
TEST_CASE("a folder that does not fit, and a file that is no picture, are told with their paths") {
  PetFolder const made;
  std::string const& path = made.folder.path();
  using Three = ImageFolder<Image<3, 2, 3>, Class<3>>;
  CHECK_THROWS_WITH_AS(Three{path}, doctest::Contains("2 folders, but the data set's type has 3 classes"), Error);
  CHECK_THROWS_WITH_AS(Pets{path + "/none"}, doctest::Contains("/none: cannot open this folder"), Error);
  io::write_file(path + "/cat/torn.jpg", std::vector<unsigned char>{0xFF, 0xD8, 1});
  Pets const pets(path);
  std::vector<float> x(18);
  int y = -1;
  CHECK_THROWS_WITH_AS(pets.read(1, x, y), doctest::Contains("cat/torn.jpg: is no picture that can be read ("), Error);
  io::make_folder(path + "/cat2");
  CHECK_THROWS_WITH_AS(Three{path}, doctest::Contains("cat2: no file ends with .jpg"), Error);
}
