// schedule/step.cpp - every step and every category has a name of its own.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave/schedule/step.hpp>

using namespace cleave::schedule;

TEST_CASE("names") {
  CHECK(name(Do::Forward) == "forward");
  CHECK(name(Do::Update) == "update");
  for (int a = 0; a <= static_cast<int>(Do::Update); ++a) {
    for (int b = 0; b < a; ++b) CHECK(name(static_cast<Do>(a)) != name(static_cast<Do>(b)));
  }
  CHECK(name(Category::Weights) == "weights");
  CHECK(name(Category::Workspace) == "workspace");
  static_assert(categories == static_cast<int>(Category::Workspace) + 1);
}
