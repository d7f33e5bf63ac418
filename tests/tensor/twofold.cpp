// tensor/twofold.cpp - what a sum, a product or a quotient of two has no room for is kept.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave/tensor/twofold.hpp>
#include <initializer_list>

using cleave::tensor::Twofold;

TEST_CASE("a small number is not lost in a large sum") {
  Twofold sum{0};
  for (double v : {1e20, 1.0, -1e20, 0x1p-40}) sum += Twofold{v};
  CHECK(sum == Twofold{1 + 0x1p-40});
  static_assert(Twofold{1e20} + Twofold{1} - Twofold{1e20} == Twofold{1});
}
TEST_CASE("a product keeps all its digits, a quotient twice as many as f64") {
  Twofold const v{1e12 + 0.1};
  Twofold const square = v * v, back = square / (1e12 + 0.1);
  CHECK(square.low != 0);
  CHECK(static_cast<double>(back - v) == doctest::Approx(0).epsilon(1e-19));
  Twofold const third = Twofold{1} / 3;
  CHECK(third + third + third == Twofold{1});
  CHECK(third < Twofold{1.0 / 3} + Twofold{1e-16});
  CHECK(Twofold{1.0 / 3} < third);
}
TEST_CASE("what is not a number stays none") {
  double const none = __builtin_nan("");
  CHECK(static_cast<double>(Twofold{none} + Twofold{1}) != static_cast<double>(Twofold{none} + Twofold{1}));
  Twofold const infinite = Twofold{__builtin_inf()} * Twofold{2};
  CHECK(!(static_cast<double>(infinite) < 1e308));
}
