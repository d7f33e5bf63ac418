// layer/residual.cpp - x + f(x), and branches: stacked, added, multiplied.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave.hpp>

using namespace cleave;

TEST_CASE("Residual") {
  {
    auto const report = check_layer<Residual<Linear<8>, Tanh>, Vector<8>>();
    CHECK_MESSAGE(report.ok, report.text);
  }
}
TEST_CASE("branches stacked and added") {
  {
    auto const report =
        check_layer<Branches<Concat, Path<Conv<2, 1>>, Path<Conv<4, 3, Pad<1>>, Tanh>>, Image<2, 4, 4>>();
    CHECK_MESSAGE(report.ok, report.text);
  }
}
TEST_CASE("a gate: x * sigmoid(W x)") {
  {
    auto const report = check_layer<Branches<Times, Path<>, Path<Linear<8>, Sigmoid>>, Vector<8>>();
    CHECK_MESSAGE(report.ok, report.text);
  }
}
TEST_CASE("squeeze and excite: a factor for each channel") {
  {
    auto const report =
        check_layer<Branches<Times, Path<Conv<4, 1>>, Path<AvgPool<4>, Linear<2>, Tanh, Linear<4>, Sigmoid>>,
                    Image<4, 4, 4>>();
    CHECK_MESSAGE(report.ok, report.text);
  }
}
