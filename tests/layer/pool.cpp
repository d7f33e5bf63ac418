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
TEST_CASE("GlobalAvgPool, before a convolution and before a dense layer") {
  auto const report = check_layer<GlobalAvgPool, Image<4, 5, 3>>();
  CHECK_MESSAGE(report.ok, report.text);
  struct Net : Sequential<Image<2, 6, 6>, Conv<4, 3>, GlobalAvgPool, Conv<6, 1>, Linear<3>, CrossEntropy> {};
  using P = session::Probe<Net>;
  static_assert(P::schedule.weight_elements == 4 * 18 + 4 + 4 * 6 + 6 + 6 * 3 + 3);
  auto const numeric = session::numeric<P>("GlobalAvgPool");
  CHECK_MESSAGE(numeric.ok, numeric.text);
}
