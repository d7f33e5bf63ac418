// data/augment.cpp - transforms: what each does, drawn evenly; a data set with them differs in training alone.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave/data/augment.hpp>
#include <cleave/data/subset.hpp>
#include <cleave/layer/input.hpp>

#include <map>
#include <numeric>

using namespace cleave;

namespace {

struct Pictures {
  using Input = Image<2, 3, 4>;
  using Target = Class<2>;
  int size() const { return 50; }
  int label(long i) const { return static_cast<int>(i % 2); }
  std::vector<std::string> class_names() const { return {"even", "odd"}; }
  void read(long i, std::span<float> x, int& y) const {
    std::iota(x.begin(), x.end(), 1.0f);
    y = label(i);
  }
};
struct Negate {
  static constexpr int dims = 0;
  static void apply(Draw const&, std::span<float> x, Shape) {
    for (float& v : x) v = -v;
  }
};
struct NoDims {
  static void apply(Draw const&, std::span<float>, Shape) {}
};
struct NeedsMembers {
  static constexpr int dims = 0;
  void apply(Draw const&, std::span<float>, Shape) const {}
};
static_assert(Transform<Flip> && Transform<Shift<2>> && Transform<Brightness<10>> && Transform<Negate>);
static_assert(!Transform<NoDims> && !Transform<NeedsMembers>);
static_assert(VariedDataset<Augmented<Pictures, Flip>> && VariedDataset<Subset<Augmented<Pictures, Flip>>>);
template <class D>
concept CanAugment = requires {
  augmented<Flip>(D{});
};
static_assert(!CanAugment<Pictures>);  // of a temporary there is nothing to view

std::vector<float> picture() {
  std::vector<float> x(24);
  std::iota(x.begin(), x.end(), 1.0f);
  return x;
}
/// A picture that is moved by (dy, dx): (c, y, x) is what was at (c, y + dy, x + dx), or 0.
std::vector<float> moved(int dy, int dx) {
  std::vector<float> const from = picture();
  std::vector<float> to(24);
  for (int c = 0; c < 2; ++c)
    for (int y = 0; y < 3; ++y)
      for (int x = 0; x < 4; ++x)
        if (y + dy >= 0 && y + dy < 3 && x + dx >= 0 && x + dx < 4)
          to[static_cast<std::size_t>((c * 3 + y) * 4 + x)] =
              from[static_cast<std::size_t>((c * 3 + y + dy) * 4 + x + dx)];
  return to;
}

}  // namespace

TEST_CASE("Flip exchanges left and right in about every second sample") {
  int flipped = 0;
  for (std::uint64_t i = 0; i < 400; ++i) {
    std::vector<float> x = picture();
    Flip::apply(Draw{.sample = i}, x, Shape(2, 3, 4));
    bool const is = x[0] == 4;
    CHECK(x == (is ? std::vector<float>{4,  3,  2,  1,  8,  7,  6,  5,  12, 11, 10, 9,
                                        16, 15, 14, 13, 20, 19, 18, 17, 24, 23, 22, 21}
                   : picture()));
    flipped += is;
  }
  CHECK(flipped > 150);
  CHECK(flipped < 250);
}
TEST_CASE("Shift moves by every distance, beyond the picture's size too; what comes in is 0") {
  std::map<std::vector<float>, int> seen;
  for (std::uint64_t i = 0; i < 3000; ++i) {
    std::vector<float> x = picture();
    Shift<1>::apply(Draw{.sample = i}, x, Shape(2, 3, 4));
    ++seen[x];
  }
  CHECK(seen.size() == 9);
  for (int dy : {-1, 0, 1})
    for (int dx : {-1, 0, 1}) {
      CHECK(seen[moved(dy, dx)] > 240);
      CHECK(seen[moved(dy, dx)] < 430);
    }
  std::map<std::vector<float>, int> wide;
  for (std::uint64_t i = 0; i < 3000; ++i) {
    std::vector<float> x = picture();
    Shift<5>::apply(Draw{.sample = i}, x, Shape(2, 3, 4));
    ++wide[x];
  }
  for (int dy = -5; dy <= 5; ++dy)
    for (int dx = -5; dx <= 5; ++dx) CHECK(wide[moved(dy, dx)] > 0);
  CHECK(wide.size() == 5 * 7 + 1);  // all that keep a pixel, and the empty one
}
TEST_CASE("Brightness multiplies all numbers by one factor") {
  float least = 2, most = 0;
  for (std::uint64_t i = 0; i < 400; ++i) {
    std::vector<float> x{1, -2};
    Brightness<20>::apply(Draw{.sample = i}, x, Shape(2));
    CHECK(x[1] == -2 * x[0]);
    least = std::min(least, x[0]);
    most = std::max(most, x[0]);
  }
  CHECK(least >= 0.8f);
  CHECK(least < 0.82f);
  CHECK(most <= 1.2f);
  CHECK(most > 1.18f);
}
TEST_CASE("a data set is changed by its transforms in their order, each with draws of its own, and only with a draw") {
  Pictures const pictures;
  auto const varied = augmented<Negate, Shift<1>, Shift<1>>(pictures);
  CHECK(varied.size() == 50);
  CHECK(varied.label(3) == 1);
  CHECK(varied.class_names()[1] == "odd");
  std::vector<float> x(24);
  int y = -1, apart = 0;
  varied.read(7, x, y);
  CHECK(x == picture());
  CHECK(y == 1);
  for (std::uint64_t i = 0; i < 50; ++i) {
    varied.read(static_cast<long>(i), Draw{.sample = i}, x, y);
    std::vector<float> wanted = picture();
    Negate::apply({}, wanted, {});
    Shift<1>::apply(Draw{.stage = 2, .sample = i}, wanted, Shape(2, 3, 4));
    std::vector<float> same = wanted;
    Shift<1>::apply(Draw{.stage = 3, .sample = i}, wanted, Shape(2, 3, 4));
    Shift<1>::apply(Draw{.stage = 2, .sample = i}, same, Shape(2, 3, 4));
    CHECK(x == wanted);
    apart += same != wanted;
  }
  CHECK(apart > 20);
  auto const twice = augmented<Shift<1>>(varied);  // its draws are not those of the stages below
  CHECK(decltype(twice)::stage == 4);
}
