// tests/io/axis.cpp - marks are round, lie in the range, and survive flat, empty and hostile data.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>

#include <cleave/io/axis.hpp>
#include <initializer_list>
#include <limits>

using namespace cleave::io;

namespace {

Axis settled(Scale scale, bool round, std::initializer_list<double> values) {
  Axis axis(scale, 100, 200);
  for (double const value : values) axis.widen(value);
  axis.settle(round);
  return axis;
}

}  // namespace

TEST_CASE("io/axis: linear marks are multiples of 1, 2 or 5") {
  CHECK(settled(Scale::Linear, false, {0, 10}).marks() == std::vector<double>{0, 2, 4, 6, 8, 10});
  CHECK(settled(Scale::Linear, false, {0.9, 4.2}).marks() == std::vector<double>{1, 2, 3, 4});
  CHECK(settled(Scale::Linear, true, {0.9, 4.2}).marks() == std::vector<double>{0, 1, 2, 3, 4, 5});
  CHECK(settled(Scale::Linear, false, {-30, 30}).marks() == std::vector<double>{-30, -20, -10, 0, 10, 20, 30});
}

TEST_CASE("io/axis: values map to pixels, the ends to the ends") {
  Axis const linear = settled(Scale::Linear, false, {0, 10});
  CHECK(linear.pixel(0) == doctest::Approx(100));
  CHECK(linear.pixel(2.5) == doctest::Approx(125));
  Axis const logarithmic = settled(Scale::Logarithmic, true, {0.01, 100});
  CHECK(logarithmic.pixel(1) == doctest::Approx(150));
  CHECK(logarithmic.marks().front() == doctest::Approx(0.01));
  CHECK(logarithmic.marks().back() == doctest::Approx(100));
}

TEST_CASE("io/axis: with rounded ends every value lies between the ends, and marks stay few") {
  for (Scale const scale : {Scale::Linear, Scale::Logarithmic}) {
    for (double const low : {1e-12, 0.003, 0.7, 1.0, 42.0, 1e9}) {
      for (double const factor : {1.0, 1.001, 1.9, 3.9, 4.1, 30.0, 1e4, 1e15}) {
        CAPTURE(low);
        CAPTURE(factor);
        Axis const axis = settled(scale, true, {low, low * factor});
        CHECK(axis.pixel(low) >= 100 - 1e-6);
        CHECK(axis.pixel(low * factor) <= 200 + 1e-6);
        CHECK(axis.marks().size() >= 2);
        CHECK(axis.marks().size() <= 14);
      }
    }
  }
}

TEST_CASE("io/axis: what is not finite, or not positive on a logarithmic axis, does not count") {
  double const infinity = std::numeric_limits<double>::infinity();
  Axis const axis = settled(Scale::Logarithmic, false, {1, 10, -5, 0, infinity, std::nan("")});
  CHECK(axis.pixel(1) == doctest::Approx(100));
  CHECK(axis.pixel(10) == doctest::Approx(200));
  CHECK(std::isfinite(settled(Scale::Linear, true, {}).pixel(1)));
}
