// meta/list.cpp - indexed access and concatenation.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave/meta/list.hpp>

using namespace cleave::meta;

TEST_CASE("lists") {
  using L = concat<list<int>, list<>, list<char, long>, list<float>, list<int>, list<>, list<short>, list<bool>,
                   list<double>>;
  static_assert(std::is_same_v<L, list<int, char, long, float, int, short, bool, double>>);
  static_assert(std::is_same_v<at<L, 0>, int> && std::is_same_v<at<L, 4>, int> && std::is_same_v<at<L, 7>, double>);
  static_assert(contains<bool, L> && !contains<unsigned, L> && L::size == 8);
  static_assert(std::is_same_v<concat<>, list<>>);
  CHECK(L::size == 8);
}
