// op/equation.cpp - letters, and where they stand.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave/op/equation.hpp>

using namespace cleave::op;

TEST_CASE("equations are read: one or two inputs, with and without weights") {
  constexpr Equation conv("bitW,oiKL->botW", true), sums("bc*->Sc", false), norm("bc*,Sc,c->bc*", true),
      join("b*->b*", false);
  static_assert(conv.x == "bitW" && conv.x2 == "bitW" && conv.w == "oiKL" && conv.y == "botW");
  static_assert(sums.x == "bc*" && sums.w.empty() && sums.y == "Sc");
  static_assert(norm.x == "bc*" && norm.x2 == "Sc" && norm.w == "c" && norm.y == "bc*");
  CHECK(join.x2 == "b*");
}

TEST_CASE("the batch is dimension 0 of the tensors that have one") {
  constexpr Subscripts x("bitW"), w("oiKL"), sums("Sc");
  static_assert(x[0] == 'b' && x[1] == 'i' && x[3] == 'W' && x[4] == '\0');
  static_assert(x.dim('i') == 1 && w.dim('i') == 1 && w.dim('o') == 0 && x.dim('o') == -1 && sums.dim('c') == 1);
  static_assert(x.beyond_shape() == 1 && w.beyond_shape() == 0 && sums.beyond_shape() == 0);
  static_assert(Subscripts().beyond_shape() == 0 && !Subscripts().has('b'));
  CHECK(w.has('K'));
}

TEST_CASE("dimensions without a letter get their number") {
  constexpr Subscripts map("b*", 4), bias("bo*", 2), none("b*", 1);
  static_assert(map.count == 4 && map[0] == 'b' && map[1] == '1' && map[3] == '3' && map.dim('2') == 2);
  static_assert(bias == Subscripts("bo") && none == Subscripts("b"));
  static_assert(Subscripts("bFGH", 2).count == 4);  // a vector's further extents are 1
  CHECK((may_cut('o') && may_cut('2') && !may_cut('H') && !may_cut('\0')));
}
