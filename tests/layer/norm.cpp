// layer/norm.cpp - gradients, every cut of the input, any replicas: batch statistics are right wherever the batch is cut.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave.hpp>

using namespace cleave;

TEST_CASE("LocalResponseNorm") {
  {
    auto const report = check_layer<LocalResponseNorm<3>, Image<4, 3, 3>>();
    CHECK_MESSAGE(report.ok, report.text);
  }
}
TEST_CASE("BatchNorm of images") {
  {
    auto const report = check_layer<BatchNorm, Image<4, 3, 3>>();
    CHECK_MESSAGE(report.ok, report.text);
  }
}
TEST_CASE("LayerNorm") {
  {
    auto const report = check_layer<LayerNorm, Vector<8>>();
    CHECK_MESSAGE(report.ok, report.text);
  }
}
