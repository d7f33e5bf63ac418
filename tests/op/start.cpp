// op/start.cpp - He and Glorot have the spread they promise, Bilinear interpolates; all depend on the global index only.
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

TEST_CASE("bilinear windows interpolate within a channel, whatever the enlargement") {
  tensor::Random const random{1, tensor::Purpose::Weights, 3};
  for (int stride : {1, 2, 4, 8}) {
    int const size = 2 * stride;
    op::Weight const w{Shape(2, 2, size, size), op::Start::Bilinear, 1, 1};
    auto const at = [&](int i, int o, int k, int l) {
      return op::start_value(w, random, ((long{i} * 2 + o) * size + k) * size + l);
    };
    for (int k = 0; k < stride; ++k) {  // an output is a mean of two neighbours along each side
      CHECK(at(0, 0, k, k) == doctest::Approx((k + 0.5) * (k + 0.5) / stride / stride));
      double const along = at(1, 1, k, 0) + at(1, 1, k + stride, 0), first = at(1, 1, 0, 0) * 2 * stride;
      CHECK(along == doctest::Approx(first));
    }
    CHECK(at(0, 1, 0, 0) == 0);
    CHECK(at(1, 0, size - 1, 0) == 0);
  }
  op::Weight const odd{Shape(1, 1, 3, 3), op::Start::Bilinear, 1, 1};
  CHECK(op::start_value(odd, random, 4) == 1);  // the middle
  CHECK(op::start_value(odd, random, 0) == 0.25);
}
