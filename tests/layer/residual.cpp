// layer/residual.cpp - x + f(x), and branches.
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
