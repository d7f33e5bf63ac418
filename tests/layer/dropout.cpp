// layer/dropout.cpp - the mask depends on global indices only.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave.hpp>

using namespace cleave;

TEST_CASE("Dropout") {
  {
    auto const report = check_layer<Dropout<30>, Vector<8>>();
    CHECK_MESSAGE(report.ok, report.text);
  }
}
