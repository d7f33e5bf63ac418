// op/start.cpp - He and Glorot have the spread they promise, and depend on the global index only.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave/op/start.hpp>

using namespace cleave;

TEST_CASE("spread") {
  tensor::Random const random{1, tensor::Purpose::Weights, 3};
  op::Weight const he{Shape(200, 50), op::Start::He, 200, 50}, glorot{Shape(200, 50), op::Start::Glorot, 200, 50};
  double sum = 0, squares = 0, widest = 0, spread = 0;
  for (long i = 0; i < 10000; ++i) {
    double const v = op::start_value(he, random, i), u = op::start_value(glorot, random, i);
    sum += v;
    squares += v * v;
    widest = std::max(widest, std::fabs(u));
    spread += u * u;
  }
  CHECK(sum / 10000 == doctest::Approx(0).epsilon(0.01));
  CHECK(squares / 10000 == doctest::Approx(2.0 / 200).epsilon(0.05));
  double const bound = std::sqrt(6.0 / 250);
  CHECK(widest <= bound);
  CHECK(widest > 0.99 * bound);
  CHECK(spread / 10000 == doctest::Approx(bound * bound / 3).epsilon(0.05));
  CHECK(op::start_value(he, random, 77) == op::start_value(he, random, 77));
  CHECK(op::start_value({Shape(1), op::Start::Ones, 1, 1}, random, 5) == 1);
}
