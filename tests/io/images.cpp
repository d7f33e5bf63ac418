// tests/io/images.cpp - a set of pictures: views of one and cutting to the first few.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>

#include <cleave/io/images.hpp>

using namespace cleave::io;

TEST_CASE("io/images: a picture is its own stretch of the pixels") {
  Images images{.count = 3, .channels = 1, .height = 1, .width = 2, .pixels = {1, 2, 3, 4, 5, 6}, .labels = {7, 8, 9}};
  CHECK(images.stride() == 2);
  CHECK(images.picture(1)[0] == 3);
  CHECK(images.label(2) == 9);
  images.keep_first(5);
  images.keep_first(-1);
  CHECK(images.count == 3);
  images.keep_first(2);
  CHECK(images.count == 2);
  CHECK(images.pixels == std::vector<unsigned char>{1, 2, 3, 4});
  CHECK(images.labels == std::vector<unsigned char>{7, 8});
}
