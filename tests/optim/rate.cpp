// optim/rate.cpp - each shape at its corners.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave/optim/rate.hpp>

using cleave::Rate;

TEST_CASE("constant, steps, cosine, warm-up") {
  CHECK(Rate::constant(0.1f).at(1000) == 0.1f);
  Rate const s = Rate::steps(1, 10, 0.5f);
  CHECK(s.at(9) == 1);
  CHECK(s.at(10) == 0.5f);
  CHECK(s.at(25) == 0.25f);
  Rate const c = Rate::cosine(1, 100, 0.1f);
  CHECK(c.at(0) == 1);
  CHECK(c.at(50) == doctest::Approx(0.55));
  CHECK(c.at(100) == 0.1f);
  CHECK(c.at(5000) == 0.1f);
  CHECK(Rate::cosine(1).at(50) == 1);
  CHECK(Rate::cosine(1).warm_up(10).over(110).at(60) == doctest::Approx(0.5));
  Rate const w = Rate::constant(1).warm_up(4);
  CHECK(w.at(0) == 0.25f);
  CHECK(w.at(3) == 1);
  CHECK(Rate::steps(1, 10, 0.5f).warm_up(4).at(13) == 1);
}
