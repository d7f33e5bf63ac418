// data/text_file.cpp - a text as a data set: bytes and the next one; the end of the text is held out.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave/data/subset.hpp>
#include <cleave/data/text_file.hpp>
#include <cleave/io/file.hpp>

#include "../io/scratch.hpp"

using namespace cleave;
static_assert(ClassDataset<TextFile<4>>);

TEST_CASE("sample i is some bytes from i on, and its class is the next byte") {
  scratch::Folder const folder;
  std::string const text = "to be, or not to be\xFF";
  io::write_file(folder / "a.txt", {reinterpret_cast<unsigned char const*>(text.data()), text.size()});
  TextFile<4> const data(folder / "a.txt");
  CHECK(data.size() == 16);
  std::vector<float> x(4);
  int y = 0;
  data.read(1, x, y);
  CHECK(x == std::vector<float>{'o', ' ', 'b', 'e'});
  CHECK(y == ',');
  CHECK(data.label(15) == 255);
  auto const [training, test] = split(data, 0.25);
  CHECK(training.numbers().back() == 7);  // the next one's class is the first byte of a sample held out
  CHECK(test.numbers() == std::vector<int>{12, 13, 14, 15});
  static_assert(decltype(test)::series);
  static_assert(decltype(test)::overlap == 4);
  auto const [first, second] = split(data, 1.0 / 16);
  CHECK(first.numbers().size() == 11);
  CHECK(second.numbers() == std::vector<int>{15});
  CHECK_THROWS_WITH_AS(split(test, 0.25), doctest::Contains("leaves a part empty"), Error);
}
TEST_CASE("a text without a sample is refused") {
  scratch::Folder const folder;
  io::write_file(folder / "a.txt", std::vector<unsigned char>{'a', 'b', 'c', 'd'});
  CHECK_THROWS_WITH_AS(TextFile<4>(folder / "a.txt"), doctest::Contains("4 bytes, but a sample takes 5"), Error);
}
TEST_CASE("windows: each position has the byte that comes next; in training they begin anywhere") {
  static_assert(ClassDataset<TextWindows<4>> && VariedDataset<TextWindows<4>>);
  scratch::Folder const folder;
  std::string const text = "abcdefghijklm";
  io::write_file(folder / "a.txt", {reinterpret_cast<unsigned char const*>(text.data()), text.size()});
  TextWindows<4, 128> const data(folder / "a.txt");
  CHECK(data.size() == 2);
  std::vector<float> x(4);
  std::vector<int> y(4);
  data.read(1, x, y);
  CHECK(x == std::vector<float>{'e', 'f', 'g', 'h'});
  CHECK(y == std::vector<int>{'f', 'g', 'h', 'i'});
  bool begun[4]{};
  for (std::uint32_t epoch = 0; epoch < 40; ++epoch) {
    data.read(1, Draw{.epoch = epoch}, x, y);
    for (std::size_t k = 0; k < 4; ++k) CHECK(y[k] == static_cast<int>(x[k]) + 1);
    REQUIRE((x[0] >= 'e' && x[0] <= 'h'));
    begun[static_cast<int>(x[0]) - 'e'] = true;
  }
  CHECK((begun[0] && begun[1] && begun[2] && begun[3]));
}
TEST_CASE("no byte of what is held out is read in training, wherever windows begin") {
  scratch::Folder const folder;
  std::string text;
  for (char c = '!'; c <= 'x'; ++c) text += c;  // each byte once: 88
  io::write_file(folder / "a.txt", {reinterpret_cast<unsigned char const*>(text.data()), text.size()});
  TextWindows<4, 128> const data(folder / "a.txt");
  std::vector<float> x(4);
  std::vector<int> y(4);
  auto const check = [&](auto const& training, auto const& held_out) {
    float first = 1000, last = 0;
    for (long i = 0; i < held_out.size(); ++i) {
      held_out.read(i, x, y);
      first = std::min(first, x[0]);
      last = std::max(last, static_cast<float>(y[3]));
    }
    for (std::uint32_t epoch = 0; epoch < 20; ++epoch) {
      for (long i = 0; i < training.size(); ++i) {
        training.read(i, Draw{.epoch = epoch, .sample = static_cast<std::uint64_t>(i)}, x, y);
        CHECK((static_cast<float>(y[3]) < first || x[0] > last));
      }
    }
  };
  auto const [training, test] = split(data, 0.25);
  CHECK(training.size() + test.size() == data.size() - 1);
  check(training, test);
  for (auto const& [rest, fold] : folds(data, 4)) check(rest, fold);
}
TEST_CASE(
    "a part of a series in another order shares no bytes with what is held out; folds that leave nothing are refused") {
  scratch::Folder const folder;
  io::write_file(folder / "a.txt", std::vector<unsigned char>(120, 'a'));
  TextFile<8> const data(folder / "a.txt");
  std::vector<int> order;
  for (int i = 0; i < 100; ++i) order.push_back(i * 37 % 100);
  Subset const mixed(data, order);
  auto const [training, test] = split(mixed, 0.1);
  REQUIRE(training.size() > 0);
  for (long i = 0; i < training.size(); ++i)
    for (long k = 0; k < test.size(); ++k) CHECK(std::abs(training.place(i) - test.place(k)) > 8);
  TextFile<64> const coarse(folder / "a.txt");
  CHECK_THROWS_WITH_AS(folds(coarse, 2), doctest::Contains("leaves no samples to train on"), Error);
}
TEST_CASE("windows: a text that is too short, or has a byte that is no token, is refused") {
  scratch::Folder const folder;
  io::write_file(folder / "a.txt", std::vector<unsigned char>{'a', 'b', 'c', 'd', 'e', 'f', 'g'});
  CHECK_THROWS_WITH_AS(TextWindows<4>(folder / "a.txt"),
                       doctest::Contains("7 bytes, but the fewest for a window are 8"), Error);
  io::write_file(folder / "b.txt", std::vector<unsigned char>(9, 200));
  CHECK_THROWS_WITH_AS((TextWindows<4, 128>(folder / "b.txt")),
                       doctest::Contains("byte 0 is 200, but the vocabulary has tokens 0 to 127"), Error);
  CHECK_NOTHROW(TextWindows<4>(folder / "b.txt"));
}
