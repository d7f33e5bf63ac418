// op/rms_norm.cpp - a sample comes out with root mean square 1 times the scale, whatever its size; zeros stay zeros.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave/op/rms_norm.hpp>

#include "operation.hpp"

using namespace cleave;

TEST_CASE("samples are divided by their root mean square, one by one") {
  static constexpr op::Local l = test::local<op::RootMeanSquareNorm>(3, Shape(4));
  std::vector<float> const x{1, -2, 3, 4, 1000, -2000, 3000, 4000, 0, 0, 0, 0}, scale{1, 1, 1, 2};
  auto y = test::zeros(12), aux = test::zeros(3);
  op::Operands<float> t;
  t.x = x.data(), t.w0 = scale.data(), t.y = y.data(), t.aux = aux.data();
  op::RootMeanSquareNorm::forward<l>(test::Serial{}, t);
  double const root = std::sqrt(30.0 / 4);
  for (std::size_t row : {0u, 4u}) {
    CHECK(y[row] == doctest::Approx(1 / root).epsilon(1e-5));
    CHECK(y[row + 1] == doctest::Approx(-2 / root).epsilon(1e-5));
    CHECK(y[row + 3] == doctest::Approx(8 / root).epsilon(1e-5));
  }
  CHECK(y[8] == 0);
}
