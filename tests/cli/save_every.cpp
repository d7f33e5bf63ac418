// cli/save_every.cpp - what --save-every understands, and when it says that it is time.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave/cli/save_every.hpp>

using cleave::Error;
using cleave::session::SaveEvery;

TEST_CASE("steps, epochs and minutes, alone or together") {
  SaveEvery const steps = SaveEvery::of("500steps");
  CHECK(steps.due(499, 500, 100));
  CHECK(steps.due(999, 1000, 100));
  CHECK(steps.due(480, 520, 100));  // replicas that do not wait pass over steps
  CHECK(!steps.due(500, 501, 100));
  CHECK(!steps.due(500, 500, 100));
  CHECK(!steps.due(0, 499, 100));
  CHECK(!steps.due(0, 499, 100, 1e9));
  CHECK(steps.next(0, 1000) == 500);
  CHECK(steps.next(499, 1000) == 500);
  CHECK(steps.next(500, 1000) == 1000);
  CHECK(steps.next(500, 600) == 600);
  SaveEvery const standard = SaveEvery::of(SaveEvery::standard);
  CHECK(standard.due(7, 8, 8));
  CHECK(standard.due(6, 9, 8));
  CHECK(standard.due(0, 1, 1));
  CHECK(!standard.due(0, 7, 8));
  CHECK(standard.due(0, 7, 8, 600));
  CHECK(!standard.after(599));
  CHECK(standard.after(600));
  CHECK(standard.next(3, 16) == 16);
  SaveEvery const both = SaveEvery::of("2epochs,30min");
  CHECK(!both.due(0, 8, 8));
  CHECK(both.due(15, 16, 8));
  CHECK(!both.due(16, 24, 8));
  CHECK(both.after(1800));
  CHECK(SaveEvery::of("1step").due(0, 1, 8));
  CHECK(SaveEvery::of("1minutes").after(60));
  CHECK(SaveEvery::of("never").never());
  CHECK(!SaveEvery::of("never").due(0, 1000, 8, 1e9));
  CHECK(!both.never());
}
TEST_CASE("anything else is refused with an example") {
  for (char const* text : {"", "500", "steps", "0steps", "-3steps", "5 steps", "5steps,", ",5steps", "1.5epochs",
                           "3hours", "99999999999999999999steps", "5stepsx", "never,5steps"}) {
    CAPTURE(text);
    CHECK_THROWS_WITH_AS(SaveEvery::of(text), doctest::Contains("such as 500steps or 1epoch,10min"), Error);
  }
}
