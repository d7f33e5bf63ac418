// tensor/partition.cpp - parts are complete, disjoint, of whole units and as equal as these allow.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave/tensor/partition.hpp>

#include <algorithm>

using cleave::Partition;

// 10 channels of 25 pixels over 4 ranks: the pixels are cut where the channels are.
static_assert(Partition{10}.begin(1, 4) == 2 && Partition{250, 25}.begin(1, 4) == 50 &&
              Partition{250}.begin(1, 4) == 62);
static_assert(Partition{1000, 512}.size(0, 2) == 512 && Partition{1000, 512}.size(1, 2) == 488);
static_assert(Partition{1000, 512}.size(2, 3) == 488 && Partition{1000, 512}.size(0, 3) == 0);

TEST_CASE("1 to 8 parts of any extent in any unit") {
  for (long unit : {1, 2, 7, 25}) {
    for (long extent = 0; extent < 120; ++extent) {
      Partition const p{extent, unit};
      for (int parts = 1; parts <= 8; ++parts) {
        long next = 0, least = extent, most = 0;
        for (int i = 0; i < parts; ++i) {
          CHECK(p.begin(i, parts) == next);
          CHECK((next % unit == 0 || next == extent));
          next += p.size(i, parts);
          least = std::min(least, p.size(i, parts));
          most = std::max(most, p.size(i, parts));
        }
        CHECK(next == extent);
        CHECK(most - least <= unit);
        CHECK(most <= p.most(parts));
        if (extent % unit == 0) CHECK(most == p.most(parts));
      }
    }
  }
}
