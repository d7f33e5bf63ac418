// tensor/bytes.cpp - sizes as one writes them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave/tensor/bytes.hpp>

using namespace cleave;

static_assert(1_KiB == 1024 && 3_MiB == 3 * 1024 * 1024 && 2_GiB == 2147483648L);
TEST_CASE("more than an int holds") { CHECK(5_GiB == 5 * 1_GiB); }
