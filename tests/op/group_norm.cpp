// op/group_norm.cpp - a group of channels comes out with mean 0 and deviation 1; constants come out as the shift.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave/op/group_norm.hpp>
#include <cmath>
#include <vector>

#include "operation.hpp"

using namespace cleave;

TEST_CASE("a group comes out with mean 0 and deviation 1, whatever its scale; constants come out as the shift") {
  static constexpr op::Local l = test::local<op::NormaliseGroups<2>>(2, Shape(4, 1, 2));
  std::vector<float> const x{1, 2, 3, 4, 1000, 2000, 3000, 4000, 7, 7, 7, 7, -4, -3, -2, -1}, scale{1, 2, 1, 1},
      shift{0, 0, 0.5f, 0};
  auto y = test::zeros(16), aux = test::zeros(8);
  op::Operands<float> t;
  t.x = x.data();
  t.w0 = scale.data();
  t.w1 = shift.data();
  t.y = y.data();
  t.aux = aux.data();
  op::NormaliseGroups<2>::forward<l>(test::Serial{}, t);
  double const unit = 1.5 / std::sqrt(1.25);
  double const wanted[] = {
      -unit, -unit / 3,  2 * unit / 3,   2 * unit, 0.5 - unit, 0.5 - unit / 3, unit / 3, unit, 0, 0, 0,
      0,     0.5 - unit, 0.5 - unit / 3, unit / 3, unit};
  for (std::size_t i = 0; i < 16; ++i) CHECK(y[i] == doctest::Approx(wanted[i]).epsilon(1e-4));
}
