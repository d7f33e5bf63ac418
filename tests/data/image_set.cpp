// data/image_set.cpp - images in memory as a data set; other sizes and labels are refused.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave/data/image_set.hpp>
#include <cleave/layer/input.hpp>

using namespace cleave;

namespace {
io::Images const images{2, 1, 1, 3, {0, 128, 255, 1, 2, 3}, {1, 0}, 2, {"cat", "dog"}};
static_assert(ClassDataset<ImageSet<Image<1, 1, 3>, Class<2>>>);
}  // namespace

TEST_CASE("images are samples of 0 to 255 with their class") {
  ImageSet<Image<1, 1, 3>, Class<2>> const set(images);
  CHECK(set.size() == 2);
  std::vector<float> x(3);
  int y = -1;
  set.read(0, x, y);
  CHECK(x == std::vector<float>{0, 128, 255});
  CHECK(y == 1);
  CHECK(set.label(1) == 0);
  CHECK(set.class_names()[1] == "dog");
}
TEST_CASE("images of another size and labels of another model are refused") {
  using Tall = ImageSet<Image<1, 3, 1>, Class<2>>;
  using One = ImageSet<Image<1, 1, 3>, Class<1>>;
  CHECK_THROWS_WITH_AS(Tall{images}, "images of 1 x 1 x 3, but the data set's input is 1 x 3 x 1", Error);
  CHECK_THROWS_WITH_AS(One{images}, "image 0: label 1, but there are 1 classes, 0 to 0", Error);
}
