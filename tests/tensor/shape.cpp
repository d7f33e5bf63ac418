// tensor/shape.cpp - extents, strides, and what changing one does.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave/tensor/shape.hpp>

using cleave::Shape;

TEST_CASE("extents and strides") {
  constexpr Shape s(64, 3, 5, 7);
  static_assert(s.size() == 64 * 3 * 5 * 7 && s.stride(0) == 105 && s.stride(1) == 35 && s.stride(2) == 7 &&
                s.stride(3) == 1);
  static_assert(s.with(1, 6).size() == 2 * s.size() && s.flat() == Shape(64 * 105));
  static_assert(Shape().size() == 0 && Shape(4) != Shape(4, 1));
  CHECK(Shape(100'000, 40'000).size() == 4'000'000'000L);  // beyond 32 bits
}
