// layer/linear.cpp - gradients, every cut, any replicas.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave.hpp>

using namespace cleave;

TEST_CASE("Linear is right") {
  {
    auto const report = check_layer<Linear<6>, Vector<8>>();
    CHECK_MESSAGE(report.ok, report.text);
  }
}
TEST_CASE("without a bias, from an image") {
  {
    auto const report = check_layer<Linear<4, NoBias, Glorot>, Image<2, 3, 3>>();
    CHECK_MESSAGE(report.ok, report.text);
  }
}
