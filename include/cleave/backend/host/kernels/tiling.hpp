// backend/host/kernels/tiling.hpp - how a matrix product of known size is cut: into register tiles, and into blocks for the caches.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

namespace cleave::backend::host {

struct Tile {
  int rows = 1, vectors = 1;
};

/// Half cycles of one step of k on a core with two vector units and two load ports, with a latency of four cycles a
/// sum.
constexpr long step_cost(int rows, int vectors) {
  int const fma = rows * vectors, loads = rows + vectors;
  int const busy = fma > loads ? fma : loads;
  return (busy > 8 ? busy : 8) + 1;
}

/// The tile that covers (m, n vectors) in the least time within the registers; of two equals, the larger panel.
constexpr Tile best_tile(long m, long n, int registers) {
  Tile best;
  long least = -1;
  for (int v = 1; v <= 16 && v <= n; ++v) {
    for (int r = 1; r <= 8 && r <= m && r * v + v + 1 <= registers; ++r) {
      long const rest = m % r, side = n % v;
      long cost = (n / v) * ((m / r) * step_cost(r, v) + (rest > 0 ? step_cost(static_cast<int>(rest), v) : 0));
      if (side > 0) {
        int const s = static_cast<int>(side);
        cost += (m / r) * step_cost(r, s) + (rest > 0 ? step_cost(static_cast<int>(rest), s) : 0);
      }
      if (least < 0 || cost < least) {
        least = cost;
        best = {r, v};
      }
    }
  }
  return best;
}

constexpr long up(long n, long to) { return (n + to - 1) / to * to; }
constexpr long down(long n, long to) { return n / to * to; }
constexpr long smaller(long a, long b) { return a < b ? a : b; }

/// k in equal blocks of at most `most`.
constexpr long even_block(long k, long most) {
  long const blocks = (k + most - 1) / most;
  return (k + blocks - 1) / blocks;
}

/// Sizes in the workspace, in bytes: packed rows of A for the second-level cache, one panel of B for the first, and
/// sums that cannot stay in C.
inline constexpr long rows_bytes = 512L << 10, panel_bytes = 32L << 10, sums_bytes = 256L << 10;
/// Of a panel of all k, which takes half of the space for sums.
inline constexpr long long_panel_bytes = 2 * panel_bytes + sums_bytes / 2;

/// visit(whether it is one of fewer rows, the first, how many) for the tiles of m rows, of products of `each` rows that
/// lie one after the other; `rest`: rows of the last tile of each, if they are fewer.
template <class Visit> void each_tile(long m, long each, int tile_rows, int rest, Visit visit) {
  for (long i = 0; i < m;) {
    long const end = smaller(i + each, m);
    for (; i + tile_rows <= end; i += tile_rows) visit(false, i, tile_rows);
    if (i < end) visit(true, i, rest);
    i = end;
  }
}

/// How a product reads A and B and stores C, as far as its blocks depend on it.
struct GemmAccess {
  bool reads_a = false;         // the register kernel can read A where it lies,
  bool reads_b = false;         // and B
  bool b_lies_along_k = false;  // steps of a line of B are neighbours
  bool in_place = false;        // C holds the sums
};

/// How C (m, n) = A B over k is cut, by kernels of so many lanes. M rows are those of one product of several that lie
/// one after the other, up to `most`.
struct GemmBlocking {
  long m = 0, n = 0, k = 0;
  int lanes = 1;
  Tile tile = {};
  int width = 0, rest = 0;         // columns of a tile; rows of the last one, if they are fewer
  int side = 0, side_vectors = 0;  // columns of the last one, if they are fewer, and their vectors
  long tiles = 0;                  // over m
  bool b_may_lie = false;          // where B is, for few rows
  bool b_in_place = false, a_in_place = false;
  bool one_block = false;                               // of k: then sums never leave their tile
  long depth = 0;                                       // of a block of k
  long block_rows = 0, at_once = 0, block_columns = 0;  // rows that are multiplied before the next: at_once
};

constexpr GemmBlocking gemm_blocking(long m, long n, long k, long most, GemmAccess access, int lanes, int registers,
                                     long size) {
  GemmBlocking to{m, n, k, lanes};
  long const vectors = (n + lanes - 1) / lanes, all = m * most;
  to.tile = best_tile(m, vectors, registers);
  to.width = to.tile.vectors * lanes;
  to.rest = static_cast<int>(m % to.tile.rows);
  to.side = static_cast<int>(n % to.width);
  to.side_vectors = (to.side + lanes - 1) / lanes;
  to.tiles = (m + to.tile.rows - 1) / to.tile.rows;
  long const panels = (n + to.width - 1) / to.width, panel = to.width * size;  // bytes of a step of it

  // A panel is worth packing once several tiles use it; rows are, once several panels do. Where B lies, the vectors of
  // its last columns reach into the next row, and with half a vector or more of columns not beyond that.
  to.b_may_lie = access.reads_b && to.tiles <= 2 && n >= lanes / 2;
  to.b_in_place = to.b_may_lie && most == 1;
  // Many rows pass through all k for some columns of a wide B at a time, which lie on few pages, and A is read in
  // place. With fewer rows than these that is slower.
  bool const some_columns =
      access.in_place && panels > 8 && k * panel > panel_bytes && m >= (access.b_lies_along_k ? 64 : 128);
  to.a_in_place = access.reads_a && (some_columns || panels <= 4 || m * k * size <= (32L << 10));
  // Sums that cannot wait in C stay in their tile, if a panel of all k fits half the space for them: A is packed once.
  long const of_rows = to.a_in_place ? k : smaller(k, rows_bytes / (to.tile.rows * size));
  bool const whole_depth = !access.in_place && k * panel <= long_panel_bytes && of_rows == k;
  long const of_panel = whole_depth ? k : panel_bytes / panel < 32 ? 32 : panel_bytes / panel;
  to.depth = even_block(k, to.b_in_place ? of_rows : smaller(of_panel, of_rows));
  to.one_block = to.depth >= k;
  bool const sums_wait = !access.in_place && !to.one_block;
  long const rows_limit = to.a_in_place ? all : down(rows_bytes / (to.depth * size), to.tile.rows);
  long const sums_limit = sums_wait ? down(sums_bytes / panel, to.tile.rows) : all;
  long const limit = smaller(rows_limit, sums_limit);
  to.block_rows = m <= limit ? smaller(down(limit, m), all) : limit < to.tile.rows ? to.tile.rows : limit;
  to.at_once = to.block_rows < m ? m : to.block_rows;
  to.block_columns = n;
  if (some_columns) {
    to.block_columns = 8L * to.width;
  } else if (sums_wait) {
    long const columns = down(sums_bytes / (up(to.block_rows, to.tile.rows) * size), to.width);
    to.block_columns = smaller(columns, up(n, to.width));
  }
  return to;
}

/// How dW (m, n), a sum over slices of k steps each, is cut. The whole depth of `together` slices is packed at once, in
/// `space` bytes; of `whole` > 0 slices all are.
struct GemmSumBlocking {
  long m = 0, n = 0, k = 0;
  int lanes = 1;
  Tile tile = {};
  int width = 0, rest = 0, side = 0, side_vectors = 0;  // as of GemmBlocking
  bool a_in_place = false;
  long space = 0, together = 1;
};

constexpr GemmSumBlocking gemm_sum_blocking(long m, long n, long k, int whole, bool reads_a, int lanes, int registers,
                                            long size) {
  GemmSumBlocking to{m, n, k, lanes};
  long const vectors = (n + lanes - 1) / lanes, least = whole > 0 ? whole : 1;
  to.space = whole > 0 ? long_panel_bytes : 2 * panel_bytes;
  to.tile = best_tile(m, smaller(vectors, to.space / (least * k * lanes * size)), registers);
  to.width = to.tile.vectors * lanes;
  to.rest = static_cast<int>(m % to.tile.rows);
  to.side = static_cast<int>(n % to.width);
  to.side_vectors = (to.side + lanes - 1) / lanes;
  to.a_in_place = reads_a && (n + to.width - 1) / to.width <= 2;
  long const fitting = panel_bytes / (to.width * k * size);
  to.together = whole > 0 ? whole : fitting < 1 ? 1 : smaller(fitting, 64);
  return to;
}

}  // namespace cleave::backend::host
