// op/layer_norm.cpp - a sample comes out with mean 0 and deviation 1, whatever its scale; constants come out as the bias.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave/op/layer_norm.hpp>
#include <cmath>
#include <initializer_list>

#include "operation.hpp"

using namespace cleave;

TEST_CASE("samples are normalised one by one") {
  static constexpr op::Local l = test::local<op::LayerNorm>(3, Shape(4));
  std::vector<float> const x{1, 2, 3, 4, 1000, 2000, 3000, 4000, 7, 7, 7, 7}, gain{1, 1, 1, 2}, bias{0, 0, 0, 0.5f};
  auto y = test::zeros(12), aux = test::zeros(6);
  op::Operands<float> t;
  t.x = x.data();
  t.w0 = gain.data();
  t.w1 = bias.data();
  t.y = y.data();
  t.aux = aux.data();
  op::LayerNorm::forward<l>(test::Serial{}, t);
  double const unit = 1.5 / std::sqrt(1.25);
  for (std::size_t row : {0u, 4u}) {
    CHECK(y[row] == doctest::Approx(-unit).epsilon(1e-4));
    CHECK(y[row + 1] == doctest::Approx(-unit / 3).epsilon(1e-4));
    CHECK(y[row + 3] == doctest::Approx(2 * unit + 0.5).epsilon(1e-4));
  }
  CHECK(y[8] == 0);
  CHECK(y[11] == 0.5f);
}
