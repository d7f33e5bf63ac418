// op/equation.cpp - letters, and where they stand.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave/op/equation.hpp>

using namespace cleave::op;

TEST_CASE("equations are read") {
  constexpr Equation conv = "biHW,oiKL->boHW", sums = "bc*->c";
  static_assert(conv.x == "biHW" && conv.w == "oiKL" && conv.y == "boHW");
  static_assert(sums.x == "bc*" && sums.w.empty() && sums.y == "c");
  static_assert(letter_at(conv.x, 0) == 'i' && letter_at(conv.x, 2) == 'W' && letter_at(conv.x, 3) == '?');
  static_assert(letter_at("bo*", 0) == 'o' && letter_at("bo*", 1) == '*' && letter_at("bo*", 2) == '*');
  static_assert(dim_of(conv.w, 'i') == 1 && dim_of(conv.y, 'o') == 0 && dim_of(conv.y, 'i') == -1);
  static_assert(may_cut('o') && may_cut('*') && !may_cut('H') && !may_cut('?'));
  CHECK(has(conv.w, 'K'));
}
