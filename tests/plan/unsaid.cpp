// tests/plan/unsaid.cpp - the micro-batches of a plan that does not say how many.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>

#include <cleave/plan/unsaid.hpp>

using namespace cleave::plan;

TEST_CASE("eight micro-batches, or the largest power of two below that divides the batch") {
  CHECK(default_micro_batches(64, 1, 1) == 8);
  CHECK(default_micro_batches(12, 1, 1) == 4);
  CHECK(default_micro_batches(7, 1, 1) == 1);
}

TEST_CASE("a multiple of the ways, and enough for all replicas and rounds") {
  CHECK(default_micro_batches(48, 1, 2) == 8);
  CHECK(default_micro_batches(48, 1, 3) == 12);
  CHECK(default_micro_batches(48, 9, 2) == 12);
  CHECK(default_micro_batches(48, 48, 1) == 48);
}

TEST_CASE("where no multiple of the ways divides the batch, no way has more than 9/8 of its share") {
  CHECK(default_micro_batches(48, 1, 7) == 48);  // of 48 samples the largest part has 7
  CHECK(default_micro_batches(128, 1, 3) == 8);  // 3, 3 and 2
  CHECK(default_micro_batches(64, 1, 5) == 32);  // 7, 7, 6, 6 and 6
  CHECK(default_micro_batches(4, 1, 3) == 4);    // nothing is in balance
}
