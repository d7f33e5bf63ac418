// tests/io/standin.cpp - the stand-in pictures: repeatable, balanced, and telling nothing by their colours.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>

#include <cleave/io/standin.hpp>
#include <set>

using namespace cleave::io;

TEST_CASE("io/standin: the same seed draws the same pictures, however many are asked for") {
  Images const some = draw_standin(25, 7);
  Images const more = draw_standin(40, 7);
  CHECK(some.count == 25);
  CHECK(some.stride() == 3072);
  CHECK(std::equal(some.pixels.begin(), some.pixels.end(), more.pixels.begin()));
  CHECK(std::equal(some.labels.begin(), some.labels.end(), more.labels.begin()));
  CHECK(draw_standin(25, 8).pixels != some.pixels);
}

TEST_CASE("io/standin: no picture comes twice, not even across seeds") {
  std::set<std::vector<unsigned char>> seen;
  for (std::uint64_t const seed : {0U, 1U, 2U}) {
    Images const images = draw_standin(100, seed);
    for (int i = 0; i < images.count; ++i) seen.emplace(images.picture(i).begin(), images.picture(i).end());
  }
  CHECK(seen.size() == 300);
}

TEST_CASE("io/standin: classes are balanced and not in a fixed order") {
  Images const images = draw_standin(200, 3);
  std::vector<int> per_class(10);
  for (int i = 0; i < images.count; ++i) ++per_class.at(static_cast<std::size_t>(images.label(i)));
  CHECK(per_class == std::vector<int>(10, 20));
  std::set<std::vector<unsigned char>> orders;
  for (auto at = images.labels.begin(); at != images.labels.end(); at += 10) orders.emplace(at, at + 10);
  CHECK(orders.size() > 15);
}

TEST_CASE("io/standin: the mean colour of every class is the same grey") {
  Images const images = draw_standin(2000, 11);
  std::vector<double> mean(30);
  for (int i = 0; i < images.count; ++i) {
    auto const pixels = images.picture(i);
    for (std::size_t p = 0; p < 3072; ++p)
      mean[static_cast<std::size_t>(3 * images.label(i)) + p / 1024] += pixels[p] / (200.0 * 1024);
  }
  // 200 pictures a class with a spread of about 65: five standard errors are 23.
  for (double const value : mean) CHECK(std::abs(value - 127.5) < 23);
}

TEST_CASE("io/standin: figures are where they should be") {
  Dice dice(5, 0);
  for (int kind = 0; kind < 10; ++kind) {
    Figure figure(kind, dice);
    bool const hollow = kind == 1 || kind == 9;
    bool const striped = kind >= 5 && kind <= 8;
    CAPTURE(kind);
    if (!striped) CHECK((figure.distance(figure.x, figure.y) > 0) == hollow);
    CHECK(figure.distance(figure.x + 2 * figure.radius, figure.y) > 0);
    CHECK(figure.distance(figure.x, figure.y - 2 * figure.radius) > 0);
  }
}
