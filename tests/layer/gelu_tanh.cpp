// layer/gelu_tanh.cpp - the slope of GeluTanh, and how near it is to Gelu.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave.hpp>
#include <cleave/layer/gelu_tanh.hpp>

using namespace cleave;

TEST_CASE("the slope of GeluTanh") {
  auto const report = check_layer<GeluTanh, Vector<8>>();
  CHECK_MESSAGE(report.ok, report.text);
}
TEST_CASE("GeluTanh is within 5e-4 of Gelu, and is not Gelu") {
  double worst = 0;
  for (double x = -6; x < 6; x += 0.01)
    worst = std::max(worst, std::abs(layer::GeluTanhFunction::forward(x) - layer::GeluFunction::forward(x)));
  CHECK(worst < 5e-4);
  CHECK(worst > 4e-4);
}
