// backend/host/kernels/tiling.cpp - tiles stay within the registers, blocks cover k evenly.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave/backend/host/kernels/tiling.hpp>
#include <initializer_list>

using namespace cleave::backend::host;

TEST_CASE("a tile, its operands and one broadcast fit the registers, and a tile is never larger than the product") {
  for (int registers : {16, 32}) {
    for (long m = 1; m <= 20; ++m) {
      for (long n = 1; n <= 20; ++n) {
        Tile const t = best_tile(m, n, registers);
        CHECK(t.rows * t.vectors + t.vectors + 1 <= registers);
        CHECK((t.rows >= 1 && t.rows <= m));
        CHECK((t.vectors >= 1 && t.vectors <= n));
      }
    }
  }
}

TEST_CASE("of many rows and columns a tile takes so many that loads do not bound it") {
  Tile const t = best_tile(240, 240, 32);
  CHECK(t.rows * t.vectors > t.rows + t.vectors);
  CHECK(t.rows * t.vectors >= 16);
}

TEST_CASE("blocks of k are equal to one, and no larger than asked") {
  for (long k = 1; k <= 300; ++k) {
    for (long most : {1L, 7L, 64L, 256L}) {
      long const block = even_block(k, most), blocks = (k + block - 1) / block;
      CHECK(block <= most);
      CHECK(blocks == (k + most - 1) / most);
      CHECK(blocks * block - k < blocks);
    }
  }
}

static_assert(up(17, 16) == 32 && up(32, 16) == 32 && down(17, 16) == 16 && smaller(3, -1) == -1);
