// meta/law.cpp - a law is asked softly and told once.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave/meta/law.hpp>
#include <cleave/place/laws.hpp>

using namespace cleave;

TEST_CASE("ask and tell") {
  static_assert(meta::Obeyed<place::columns_divide_by_ways<100, 4>>);
  static_assert(!meta::Obeyed<place::columns_divide_by_ways<100, 8>>);
  CHECK(sizeof(meta::enforce<place::columns_divide_by_ways<100, 4>, int>) > 0);
}
