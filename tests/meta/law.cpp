// meta/law.cpp - a law is asked softly and told once.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave/meta/law.hpp>
#include <cleave/place/laws.hpp>

using namespace cleave;

TEST_CASE("ask and tell") {
  static_assert(meta::Obeyed<place::groups_divide_by_ways<100, 4>>);
  static_assert(!meta::Obeyed<place::groups_divide_by_ways<100, 8>>);
  CHECK(sizeof(meta::enforce<place::groups_divide_by_ways<100, 4>, int>) > 0);
}
TEST_CASE("of several laws the first that is broken is told") {
  using Kept = meta::enforce<place::groups_divide_by_ways<100, 4>, int>;
  using First = meta::enforce<place::groups_divide_by_ways<100, 8>, int>;
  using Second = meta::enforce<place::groups_divide_by_ways<100, 16>, int>;
  CHECK(std::is_same_v<meta::first_broken<Kept, First, Second>, First>);
  CHECK_FALSE(meta::holds<meta::first_broken<Kept, First, Second>>);
  CHECK(meta::holds<meta::first_broken<Kept, Kept>>);
  CHECK(meta::holds<meta::first_broken<>>);
}
