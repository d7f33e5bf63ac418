// agree/free.cpp - one event at a time.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cleave/agree/free.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>

#include "cleave/tensor/philox.hpp"

using namespace cleave;
using namespace cleave::agree;

namespace {
template <class Keeper> Actions<Keeper::most> hear(Keeper& k, Event e) {
  Actions<Keeper::most> out;
  k.hear(e, out);
  return out;
}
}  // namespace

TEST_CASE("every gradient is an update and tells its age") {
  Free<2> k;
  CHECK(hear(k, {Heard::Joined, 0, 1}).of[0].what == Done::Grant);
  hear(k, {Heard::Joined, 1, 1});
  auto const a = hear(k, {Heard::Pushed, 0, 1, 0, 0});
  REQUIRE(a.count == 3);
  CHECK(a.of[0].what == Done::Take);
  CHECK(a.of[1].what == Done::Update);
  CHECK(a.of[2].version == 1);
  CHECK(hear(k, {Heard::Pushed, 1, 1, 0, 0}).of[0].age == 1);
}
TEST_CASE("numbers that come out of order count once each") {
  Free<1> k;
  hear(k, {Heard::Joined, 0, 1});
  CHECK(hear(k, {Heard::Pushed, 0, 1, 0, 2, 0}).of[0].what == Done::Take);
  CHECK(hear(k, {Heard::Pushed, 0, 1, 0, 0, 0}).of[0].what == Done::Take);
  CHECK(hear(k, {Heard::Pushed, 0, 1, 0, 0, 0}).of[0].what == Done::Drop);
  CHECK(hear(k, {Heard::Pushed, 0, 1, 0, 2, 0}).of[0].what == Done::Drop);
  CHECK(hear(k, {Heard::Pushed, 0, 1, 0, 1, 0}).of[0].what == Done::Take);
  CHECK(hear(k, {Heard::Pushed, 0, 1, 0, 40, 0}).of[0].what == Done::Take);
  CHECK(hear(k, {Heard::Pushed, 0, 1, 0, 3, 0}).of[0].what == Done::Drop);  // 36 before the newest: too far back
  CHECK(hear(k, {Heard::Pushed, 0, 1, 0, 39, 0}).of[0].what == Done::Take);
}
TEST_CASE("numbers far ahead cost no more than the next one, and the last there is counts never") {
  constexpr int last = std::numeric_limits<int>::max();
  static_assert([] {  // a loop over the numbers between would be too long for a compiler
    Free<1> k;
    Actions<1> out;
    k.hear({Heard::Joined, 0, 1}, out);
    k.hear({Heard::Pushed, 0, 1, 0, last - 1, 0}, out);
    return out.of[1].what == Done::Take && k.heard[0] == last && k.version == 1;
  }());
  Free<1> k;
  hear(k, {Heard::Joined, 0, 1});
  CHECK(hear(k, {Heard::Pushed, 0, 1, 0, last, 0}).of[0].what == Done::Drop);
  CHECK(hear(k, {Heard::Pushed, 0, 1, 0, -1, 0}).of[0].what == Done::Drop);
  CHECK(hear(k, {Heard::Pushed, 0, 1, 0, std::numeric_limits<int>::min(), 0}).of[0].what == Done::Drop);
  CHECK(hear(k, {Heard::Pushed, 0, 1, 0, 0, 0}).of[0].what == Done::Take);
}
TEST_CASE("a gradient of weights that there were not is dropped: its age would be below zero") {
  Free<1, Stale<Damp>> k;
  hear(k, {Heard::Joined, 0, 1});
  for (int const version : {1, 2, -1, std::numeric_limits<int>::max(), std::numeric_limits<int>::min()}) {
    auto const a = hear(k, {Heard::Pushed, 0, 1, version, k.heard[0], 0});
    CHECK(a.of[0].what == Done::Drop);
    CHECK(a.of[0].share == 0);
    CHECK(k.version == 0);
  }
}
TEST_CASE("a gradient of an earlier life is dropped") {
  Free<2> k;
  hear(k, {Heard::Joined, 0, 2});
  CHECK(hear(k, {Heard::Pushed, 0, 1, 0, 0}).of[0].what == Done::Drop);
  CHECK(hear(k, {Heard::Left, 0, 1}).count == 0);
  CHECK(hear(k, {Heard::Left, 0, 2}).of[0].what == Done::Fail);  // nobody is left
}
TEST_CASE("stale-synchronous: the one ahead is granted when the slowest has come on, or has died") {
  Free<2, Stale<>, 0, 1> k;
  hear(k, {Heard::Joined, 0, 1});
  hear(k, {Heard::Joined, 1, 1});
  CHECK(hear(k, {Heard::Pushed, 0, 1, 0, 0}).count == 3);
  CHECK(hear(k, {Heard::Pushed, 0, 1, 1, 1}).count == 2);  // two ahead: no grant
  auto const on = hear(k, {Heard::Pushed, 1, 1, 0, 0});
  CHECK(on.count == 4);  // taken, updated, both granted
  hear(k, {Heard::Pushed, 0, 1, 3, 2});
  CHECK(hear(k, {Heard::Left, 1, 1}).of[0].worker == 0);
}
TEST_CASE("N replicas of equal speed, give or take a fifth, are N - 1 updates stale on average") {
  for (int n : {2, 5, 20}) {
    Free<20> k;
    cleave::tensor::Random const draw{3, cleave::tensor::Purpose::Shuffle, 0};
    std::uint64_t number = 0;
    double ready[20]{}, ages = 0;
    int holds[20]{}, count[20]{};
    for (int w = 0; w < n; ++w) {
      hear(k, {Heard::Joined, w, 1});
      ready[w] = 1 + 0.2 * static_cast<double>(draw.uniform(number++));
    }
    int const gradients = 4000;
    for (int g = 0; g < gradients; ++g) {
      int const w = static_cast<int>(std::min_element(ready, ready + n) - ready);
      auto const out = hear(k, {Heard::Pushed, w, 1, holds[w], count[w]++});
      ages += out.of[0].age;
      holds[w] = k.version;
      ready[w] += 1 + 0.2 * static_cast<double>(draw.uniform(number++));
    }
    CHECK(ages / gradients == doctest::Approx(n - 1).epsilon(0.05));
  }
}
