// layer/input.cpp - the shape of a sample.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave/layer/input.hpp>

using namespace cleave;

TEST_CASE("inputs have shapes") {
  static_assert(Vector<784>::shape == Shape(784));
  static_assert(Image<3, 32, 16>::shape == Shape(3, 32, 16));
  CHECK(Image<3, 32, 16>::shape.size() == 1536);
}
