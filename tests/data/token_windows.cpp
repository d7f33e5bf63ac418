// data/token_windows.cpp - windows of a file of tokens: each position has the next token, and a model learns them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave.hpp>
#include <cleave/data/token_windows.hpp>

#include "../io/scratch.hpp"

using namespace cleave;

namespace {

constexpr int positions = 4, vocabulary = 1000;
static_assert(ClassDataset<TokenWindows<positions, vocabulary>> && VariedDataset<TokenWindows<positions, vocabulary>>);

/// Tokens of 16 bits, of which each is the one before plus 7, modulo `below`.
struct File {
  scratch::Folder folder;
  std::string path = folder / "tokens.bin";

  explicit File(int count, int below = vocabulary, bool broken = false) {
    std::vector<std::uint16_t> tokens;
    for (int i = 0; i < count; ++i) tokens.push_back(static_cast<std::uint16_t>(7 * i % below));
    if (broken) tokens[3] = vocabulary;
    io::write_file(path, {reinterpret_cast<unsigned char const*>(tokens.data()), 2 * tokens.size()});
  }
};
struct Net : Sequential<Vector<positions>, Embedding<60, 8>, PerPosition<Linear<60>, CrossEntropy>> {};
struct Train : Plan<Net, Batch<16>, DataParallel<Sync>, Adam> {
  static constexpr Rate rate = Rate::constant(0.02f);
};

}  // namespace

TEST_CASE("the class of each position is the next token; in training windows begin anywhere") {
  File const file(18);
  TokenWindows<positions, vocabulary> const data(file.path, TokenFormat::U16);
  CHECK(data.size() == 3);
  std::vector<float> x(positions);
  std::vector<int> y(positions);
  data.read(2, x, y);
  CHECK(x == std::vector<float>{56, 63, 70, 77});
  CHECK(y == std::vector<int>{63, 70, 77, 84});
  bool begun[positions]{};
  for (std::uint32_t epoch = 0; epoch < 40; ++epoch) {
    data.read(1, Draw{.epoch = epoch}, x, y);
    for (std::size_t k = 0; k < positions; ++k) CHECK(y[k] == static_cast<int>(x[k]) + 7);
    int const first = static_cast<int>(x[0]) / 7 - positions;
    REQUIRE((first >= 0 && first < positions));
    begun[first] = true;
  }
  CHECK((begun[0] && begun[1] && begun[2] && begun[3]));
}
TEST_CASE("a model learns from them, and the end of the file is held out") {
  File const file(800, 60);
  TokenWindows<positions, 60> const data(file.path, TokenFormat::U16);
  auto const [training, test] = split(data, 0.2);
  Trainer<Train> trainer({.replicas = 2});
  History const h = trainer.fit(training, test, {.epochs = 30});
  CHECK(h.epochs.back().val_accuracy > 0.99);
}
TEST_CASE("too few tokens, and one outside the vocabulary, are told") {
  File const few(7), broken(400, 60, true);
  CHECK_THROWS_WITH_AS((TokenWindows<positions, vocabulary>(few.path, TokenFormat::U16)),
                       doctest::Contains("7 tokens, but the fewest for a window are 8"), Error);
  TokenWindows<positions, vocabulary> const data(broken.path, TokenFormat::U16);
  std::string const wanted = "token 3 is 1000, but the vocabulary has tokens 0 to 999";
  std::vector<float> x(positions);
  std::vector<int> y(positions);
  CHECK_THROWS_WITH_AS(data.read(0, x, y), doctest::Contains(wanted.c_str()), Error);
  CHECK_NOTHROW(data.read(1, x, y));
  TokenWindows<positions, 60> const of_net(broken.path, TokenFormat::U16);
  Trainer<Train> trainer;
  CHECK_THROWS_WITH_AS(trainer.fit(of_net, {.epochs = 3}), doctest::Contains("is 1000, but"), Error);
}
