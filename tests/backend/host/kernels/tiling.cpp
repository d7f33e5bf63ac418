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

namespace {
template <class Visit> void each_size(Visit visit) {
  for (long m : {1L, 3L, 8L, 64L, 129L, 1000L}) {
    for (long n : {1L, 2L, 10L, 16L, 53L, 128L, 4096L}) {
      for (long k : {1L, 9L, 64L, 784L, 11704L, 40000L}) visit(m, n, k);
    }
  }
}
}  // namespace

TEST_CASE("what a product packs, and the sums that wait, stay within the workspace; blocks are whole tiles") {
  for (int vector_bytes : {16, 32, 64, 65}) {  // 65: vectors of 64 bytes, numbers of 8
    int const registers = vector_bytes >= 64 ? 32 : 16, size = vector_bytes == 65 || vector_bytes == 16 ? 8 : 4,
              lanes = vector_bytes / size;
    for (int reads = 0; reads < 8; ++reads) {
      each_size([&](long m, long n, long k) {
        for (long most : {1L, 16L}) {
          if (m == 1 && most > 1) continue;
          bool const in_place = (reads & 4) != 0;
          GemmBlocking const b = gemm_blocking(
              m, n, k, most, {(reads & 1) != 0, (reads & 2) != 0, (reads & 2) == 0, in_place}, lanes, registers, size);
          CAPTURE(m);
          CAPTURE(n);
          CAPTURE(k);
          CHECK((b.depth >= 1 && b.block_rows >= 1 && b.block_columns >= 1 && b.at_once >= b.block_rows));
          CHECK((b.at_once == b.block_rows || b.at_once % m == 0));
          CHECK(b.one_block == (b.depth >= k));
          long const panel = b.b_in_place ? 0 : b.depth * b.width * size;
          CHECK(panel <= (b.one_block ? long_panel_bytes : 2 * panel_bytes));
          CHECK((b.a_in_place || b.block_rows * b.depth * size <= rows_bytes));
          if (!in_place && !b.one_block) CHECK(up(b.block_rows, b.tile.rows) * b.block_columns * size <= sums_bytes);
          CHECK(b.side_vectors * lanes >= b.side);
          CHECK((b.rest < b.tile.rows && b.side < b.width));
          CHECK((b.block_rows % m == 0 || b.block_rows % b.tile.rows == 0));
          CHECK((b.block_columns >= n || b.block_columns % b.width == 0));
        }
      });
    }
  }
}

TEST_CASE("slices of a sum that are packed at once stay within their panel") {
  each_size([&](long m, long n, long k) {
    if (k > 784) return;
    for (int whole : {0, 2}) {
      GemmSumBlocking const b = gemm_sum_blocking(m, n, k, whole, true, 16, 32, 4);
      CAPTURE(n);
      CAPTURE(k);
      CHECK(b.together >= 1);
      CHECK(b.together * k * b.width * 4 <= b.space);
      if (whole > 0) CHECK(b.together == whole);
    }
  });
}

static_assert(up(17, 16) == 32 && up(32, 16) == 32 && down(17, 16) == 16 && smaller(3, -1) == -1);
