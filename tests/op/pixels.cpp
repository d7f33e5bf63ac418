// op/pixels.cpp - channels of each pixel side by side, row after row; and back.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave/op/pixels.hpp>

#include "operation.hpp"

using namespace cleave;

TEST_CASE("pixels of two images in order, and their gradients back in channels") {
  static constexpr op::Local l = test::local<op::Pixels>(2, Shape(2, 2, 1));
  static_assert(l.y == Shape(2, 2));
  std::vector<float> const x{1, 2, 11, 12, 3, 4, 13, 14};
  auto y = test::zeros(8), dx = y;
  op::Operands<float> t;
  t.x = x.data();
  t.y = y.data();
  op::Pixels::forward<l>(test::Serial{}, t);
  CHECK(y == std::vector<float>{1, 11, 2, 12, 3, 13, 4, 14});
  t.dy = y.data();
  t.dx = dx.data();
  op::Pixels::backward_input<l>(test::Serial{}, t);
  CHECK(dx == x);
}
