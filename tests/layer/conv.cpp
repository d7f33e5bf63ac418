// layer/conv.cpp - gradients, every cut, any replicas; padding, stride, groups; transposed; pixels as positions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave.hpp>

using namespace cleave;

TEST_CASE("a plain convolution") {
  {
    auto const report = check_layer<Conv<4, 3, Pad<1>>, Image<2, 6, 6>>();
    CHECK_MESSAGE(report.ok, report.text);
  }
}
TEST_CASE("windows with gaps") {
  auto const report = check_layer<Conv<4, 3, Pad<2>, Dilation<2>>, Image<2, 6, 6>>();
  CHECK_MESSAGE(report.ok, report.text);
  using Op = meta::at<Conv<4, 3, Stride<2>, Dilation<3>>::ops, 0>;
  static_assert(Op::output(Shape(2, 9, 12)) == Shape(4, 2, 3));
}
TEST_CASE("a filter for each channel") {
  auto const report = check_layer<Conv<6, 3, Pad<1>, Groups<6>>, Image<6, 5, 5>>();
  CHECK_MESSAGE(report.ok, report.text);
}
TEST_CASE("stride, padding and groups") {
  {
    auto const report = check_layer<Conv<4, 3, Stride<2>, Pad<1>, Groups<2>>, Image<4, 7, 6>>();
    CHECK_MESSAGE(report.ok, report.text);
  }
}
TEST_CASE("transposed convolutions: twice as large, as large, windows with zeros between them") {
  using Twice = ConvTranspose<3, 4, Stride<2>, Pad<1>>;
  static_assert(meta::at<Twice::ops, 0>::output(Shape(2, 5, 6)) == Shape(3, 10, 12));
  static_assert(meta::at<Twice::ops, 0>::weight(0, Shape(2, 5, 6)).shape == Shape(2, 3, 4, 4));
  for (auto const& report :
       {check_layer<Twice, Image<2, 5, 6>>(), check_layer<ConvTranspose<4, 3, Pad<1>, NoBias>, Image<2, 4, 5>>(),
        check_layer<ConvTranspose<2, 2, Stride<3>>, Image<2, 4, 4>>()})
    CHECK_MESSAGE(report.ok, report.text);
}
TEST_CASE("pixels as positions") {
  auto const report = check_layer<PixelsAsPositions, Image<3, 4, 2>>();
  CHECK_MESSAGE(report.ok, report.text);
}
