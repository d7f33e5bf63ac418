// tensor/philox.cpp - the known answers of the paper's own test vectors.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave/tensor/philox.hpp>

using namespace cleave::tensor;

// Random123, kat_vectors: philox4x32 10.
static_assert(philox({0, 0, 0, 0}, 0, 0) == Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
static_assert(philox({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, 0xffffffff, 0xffffffff) ==
              Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
static_assert(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, 0xa4093822, 0x299f31d0) ==
              Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});

TEST_CASE("uniform is uniform, below is below, and purposes are apart") {
  Random const a{1, Purpose::Dropout, 0}, b{1, Purpose::Shuffle, 0};
  double sum = 0;
  int same = 0;
  for (unsigned i = 0; i < 10000; ++i) {
    float const u = a.uniform(i);
    REQUIRE(u >= 0);
    REQUIRE(u < 1);
    sum += static_cast<double>(u);
    same += a.at(i) == b.at(i);
    REQUIRE(a.below(7, i) < 7);
  }
  CHECK(sum / 10000 == doctest::Approx(0.5).epsilon(0.02));
  CHECK(same == 0);
  CHECK(a.at(5, 1) != a.at(5, 2));
}
