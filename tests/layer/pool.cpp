// layer/pool.cpp - gradients, every cut of the input, any replicas.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave.hpp>

using namespace cleave;

TEST_CASE("MaxPool") {
  {
    auto const report = check_layer<MaxPool<3, Stride<2>>, Image<2, 7, 7>>();
    CHECK_MESSAGE(report.ok, report.text);
  }
}
TEST_CASE("AvgPool with padding") {
  {
    auto const report = check_layer<AvgPool<3, Stride<2>, Pad<1>>, Image<2, 6, 7>>();
    CHECK_MESSAGE(report.ok, report.text);
  }
}
