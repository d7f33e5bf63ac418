// tests/io/picture.cpp - PNG files taken apart again, and the sample sheet pixel by pixel.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>

#include <cleave/io/picture.hpp>
#include <cleave/io/standin.hpp>

#include "scratch.hpp"

using namespace cleave::io;

namespace {

std::size_t big_endian(Bytes bytes, std::size_t at) {
  return std::size_t{bytes[at]} << 24 | std::size_t{bytes[at + 1]} << 16 | std::size_t{bytes[at + 2]} << 8 |
         bytes[at + 3];
}

/// Reads back what write_png writes: stored blocks and unfiltered lines only. Checks lengths and check values.
Picture read_png(std::string const& path) {
  std::vector<unsigned char> const bytes = read_file(path);
  Bytes const file = bytes;
  Picture picture;
  std::vector<unsigned char> stream;
  REQUIRE(std::string(file.begin() + 1, file.begin() + 4) == "PNG");
  std::size_t at = 8;
  std::string type;
  for (; at < file.size(); at += 12 + big_endian(file, at)) {
    std::size_t const size = big_endian(file, at);
    REQUIRE(at + 12 + size <= file.size());
    type.assign(file.begin() + static_cast<std::ptrdiff_t>(at) + 4, file.begin() + static_cast<std::ptrdiff_t>(at) + 8);
    Bytes const body = file.subspan(at + 8, size);
    REQUIRE(big_endian(file, at + 8 + size) == Crc32().add(file.subspan(at + 4, size + 4)).value());
    if (type == "IHDR") {
      picture.width = static_cast<int>(big_endian(body, 0));
      picture.height = static_cast<int>(big_endian(body, 4));
    }
    if (type == "IDAT") stream.assign(body.begin(), body.end());
  }
  REQUIRE(type == "IEND");
  REQUIRE((stream[0] * 256 + stream[1]) % 31 == 0);
  std::vector<unsigned char> lines;
  bool last = false;
  for (at = 2; !last;) {
    last = stream[at] == 1;
    std::size_t const size = stream[at + 1] + 256U * stream[at + 2];
    REQUIRE(size + stream[at + 3] + 256U * stream[at + 4] == 65535);
    auto const begin = stream.begin() + static_cast<std::ptrdiff_t>(at) + 5;
    lines.insert(lines.end(), begin, begin + static_cast<std::ptrdiff_t>(size));
    at += 5 + size;
  }
  REQUIRE(big_endian(stream, at) == adler32(lines));
  std::size_t const row = 1 + 3 * static_cast<std::size_t>(picture.width);
  REQUIRE(lines.size() == row * static_cast<std::size_t>(picture.height));
  for (std::size_t i = 0; i < lines.size(); ++i)
    if (i % row != 0) picture.rgb.push_back(lines[i]);
  return picture;
}

std::vector<unsigned char> pixel(Picture const& picture, int x, int y) {
  auto const at = picture.rgb.begin() + 3 * (static_cast<std::ptrdiff_t>(y) * picture.width + x);
  return {at, at + 3};
}

}  // namespace

TEST_CASE("io/picture: Adler-32 of a published example") { CHECK(adler32(scratch::bytes("Wikipedia")) == 0x11E60398U); }

TEST_CASE("io/picture: a PNG, within one stored block and over several, holds what was given") {
  scratch::Folder const folder;
  for (int const width : {1, 5, 300}) {
    Picture picture{.width = width, .height = 100, .rgb = {}};
    for (int i = 0; i < 3 * width * 100; ++i) picture.rgb.push_back(static_cast<unsigned char>(i * 7 % 251));
    write_png(folder / "x.png", picture);
    Picture const read = read_png(folder / "x.png");
    CHECK(read.width == width);
    CHECK(read.height == 100);
    CHECK(read.rgb == picture.rgb);
  }
  CHECK(scratch::has(scratch::message([&] { write_png(folder / "y.png", 2, 2, std::vector<unsigned char>(11)); }),
                     "2 x 2 cannot have 11 bytes"));
}

TEST_CASE("io/picture: the sheet shows ten classes, a class a line, doubled, with margins of 2") {
  Images const images = draw_standin(60, 1);
  Picture const sheet = sample_sheet(images, 4);
  CHECK(sheet.width == 2 + 4 * 66);
  CHECK(sheet.height == 2 + 10 * 66);
  std::vector<int> seen(10);
  for (int i = 0; i < images.count; ++i) {
    int const label = images.label(i);
    int const nth = seen[static_cast<std::size_t>(label)]++;
    if (nth >= 4) continue;
    for (int y = 0; y < 64; y += 7) {
      for (int x = 0; x < 64; x += 5) {
        auto const from = static_cast<std::size_t>(y / 2 * 32 + x / 2);
        auto const p = images.picture(i);
        REQUIRE(pixel(sheet, 2 + 66 * nth + x, 2 + 66 * label + y) ==
                std::vector<unsigned char>{p[from], p[1024 + from], p[2048 + from]});
      }
    }
    CHECK(pixel(sheet, 66 * nth + 1, 66 * label + 30) == std::vector<unsigned char>(3, 255));
    CHECK(pixel(sheet, 66 * nth + 30, 66 * label + 1) == std::vector<unsigned char>(3, 255));
  }
  scratch::Folder const folder;
  write_png(folder / "sheet.png", sheet);
  CHECK(read_png(folder / "sheet.png").rgb == sheet.rgb);
}

TEST_CASE("io/picture: grey sets become grey sheets, and lines short of pictures end white") {
  Images const images{.count = 2, .channels = 1, .height = 1, .width = 2, .pixels = {10, 20, 30, 40}, .labels = {0, 9}};
  Picture const sheet = sample_sheet(images, 2);
  CHECK(sheet.width == 2 + 2 * 6);
  CHECK(pixel(sheet, 5, 3) == std::vector<unsigned char>(3, 20));
  CHECK(pixel(sheet, 3, 2 + 9 * 4) == std::vector<unsigned char>(3, 30));
  CHECK(pixel(sheet, 8, 2) == std::vector<unsigned char>(3, 255));
  CHECK(pixel(sheet, 2, 6) == std::vector<unsigned char>(3, 255));
}
TEST_CASE("io/picture: of large pictures the sheet shows every n-th pixel") {
  Images images{.count = 1, .channels = 1, .height = 50, .width = 300, .pixels = {}, .labels = {0}};
  for (int i = 0; i < 50 * 300; ++i) images.pixels.push_back(static_cast<unsigned char>(i % 300 / 4 + i / 300));
  Picture const sheet = sample_sheet(images, 2);
  CHECK(sheet.width == 2 + 2 * (75 + 2));
  CHECK(sheet.height == 2 + 10 * (13 + 2));
  for (int x = 0; x < 75; x += 7)
    CHECK(pixel(sheet, 2 + x, 2 + 12) == std::vector<unsigned char>(3, static_cast<unsigned char>(x + 48)));
}
