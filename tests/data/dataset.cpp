// data/dataset.cpp - the data set concept: models, near misses, and random numbers of a sample.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave/data/dataset.hpp>
#include <cleave/layer/input.hpp>

#include <cstdlib>
#include <set>

using namespace cleave;

namespace {

struct Classes {
  using Input = Vector<2>;
  using Target = Class<3>;
  int size() const { return 1; }
  void read(long, std::span<float>, int&) const {}
};
struct Targets {
  using Input = Image<3, 4, 4>;
  using Target = Values<2>;
  long size() const { return 1; }
  void read(long, std::span<float>, std::span<float>) const {}
};
struct Varied : Targets {
  using Targets::read;
  void read(long, Draw const&, std::span<float>, std::span<float>) const {}
};
static_assert(Dataset<Classes> && ClassDataset<Classes> && !VariedDataset<Classes>);
static_assert(Dataset<Targets> && !ClassDataset<Targets>);
static_assert(VariedDataset<Varied>);

struct ReadChangesIt : Targets {
  void read(long, std::span<float>, std::span<float>) {}
};
struct SizeIsNoInteger : Targets {
  double size() const { return 1; }
};
struct ReadReturnsSomething : Targets {
  bool read(long, std::span<float>, std::span<float>) const { return true; }
};
struct ClassByValue : Classes {
  void read(long, std::span<float>, std::span<float>) const {}
};
struct NoInput {
  using Target = Values<2>;
  long size() const { return 1; }
  void read(long, std::span<float>, std::span<float>) const {}
};
struct TargetOfAnotherKind : Targets {
  using Target = int;
};
static_assert(!Dataset<ReadChangesIt>);
static_assert(!Dataset<SizeIsNoInteger>);
static_assert(!Dataset<ReadReturnsSomething>);
static_assert(!Dataset<ClassByValue>);
static_assert(!Dataset<NoInput>);
static_assert(!Dataset<TargetOfAnotherKind>);
static_assert(!Dataset<std::span<float const>>);

}  // namespace

TEST_CASE("a draw is a function of seed, epoch, stage, sample and k") {
  auto const word = [](Draw const& d, std::uint32_t k = 0) { return d.at(k).a; };
  std::set<std::uint32_t> const all{word({}),           word({.seed = 2}),   word({.epoch = 1}),
                                    word({.stage = 1}), word({.sample = 1}), word({}, 1)};
  CHECK(all.size() == 6);
  CHECK(Draw{}.at(3) == Draw{}.at(3));
  int count[5]{};
  for (std::uint64_t i = 0; i < 5000; ++i) {
    Draw const d{.sample = i};
    ++count[d.below(5, 0)];
    CHECK(d.uniform(0) >= 0);
    CHECK(d.uniform(0) < 1);
  }
  for (int c : count) CHECK(std::abs(c - 1000) < 150);
}
