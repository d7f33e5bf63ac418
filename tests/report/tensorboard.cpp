// report/tensorboard.cpp - event files: every byte as TensorFlow would write it, and epochs of fit.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave.hpp>
#include <cleave/report/tensorboard.hpp>

#include "../io/scratch.hpp"

using namespace cleave;

namespace {
/// The data of each record; checks lengths and checksums.
std::vector<std::string> records(std::string const& path) {
  auto const bytes = io::read_file(path);
  auto const number = [&](std::size_t at, int size) {
    std::uint64_t v = 0;
    for (int i = size; i-- > 0;) v = v << 8 | bytes[at + static_cast<std::size_t>(i)];
    return v;
  };
  auto const sum = [&](std::size_t at, std::size_t size) {
    std::uint32_t const crc = io::Crc32c().add(io::Bytes(bytes).subspan(at, size)).value();
    return static_cast<std::uint32_t>((crc >> 15 | crc << 17) + 0xA282EAD8U);
  };
  std::vector<std::string> out;
  for (std::size_t at = 0; at < bytes.size();) {
    auto const size = static_cast<std::size_t>(number(at, 8));
    REQUIRE(at + 16 + size <= bytes.size());
    CHECK(number(at + 8, 4) == sum(at, 8));
    CHECK(number(at + 12 + size, 4) == sum(at + 12, size));
    out.emplace_back(bytes.begin() + static_cast<long>(at + 12), bytes.begin() + static_cast<long>(at + 12 + size));
    at += 16 + size;
  }
  return out;
}
struct Net : Sequential<Vector<2>, Linear<8>, Tanh, Linear<2>, CrossEntropy> {};
struct Train : Plan<Net, Batch<8>, Adam> {};
}  // namespace

TEST_CASE("a scalar is an event: time, step, and a summary of one value") {
  scratch::Folder const folder;
  TensorBoard board(folder / "runs/first");
  board.scalar("loss", 300, 0.5);
  auto const events = records(board.path());
  REQUIRE(events.size() == 2);
  CHECK(events[0].substr(9) == std::string("\x1a\x0d", 2) + "brain.Event:2");
  // step 300 as a varint; summary of 13 bytes; value of 11 bytes; tag of 4; 0.5f
  CHECK(events[1].substr(9) == std::string("\x10\xac\x02\x2a\x0d\x0a\x0b\x0a\x04loss\x15\x00\x00\x00\x3f", 18));
  TensorBoard second(folder / "runs/first");
  CHECK(second.path() != board.path());
}
TEST_CASE("epochs of fit as curves and as lines of CSV") {
  std::vector<float> x;
  std::vector<int> y;
  for (int i = 0; i < 64; ++i) {
    x.push_back(static_cast<float>(i % 8) / 8), x.push_back(static_cast<float>(i / 8) / 8);
    y.push_back(i % 8 > i / 8);
  }
  scratch::Folder const folder;
  TensorBoard board(folder / "runs");
  Trainer<Train> trainer;
  History const h = trainer.fit(x, y, {.epochs = 3, .validation = 0.25}, board);
  CHECK(records(board.path()).size() == 1 + 3 * 3);
  std::string const csv = h.csv();
  CHECK(std::count(csv.begin(), csv.end(), '\n') == 4);
  CHECK(csv.starts_with("epoch,steps,loss,val_loss,val_accuracy,seconds\n1,6,"));
  CHECK(trainer.fit(x, y, {.epochs = 1}).csv().find(",,,") != std::string::npos);
}
TEST_CASE("a folder that cannot be made is an Error that names it") {
  CHECK_THROWS_WITH_AS(TensorBoard("/dev/null/runs"), doctest::Contains("/dev/null"), Error);
}
