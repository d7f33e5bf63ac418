// backend/host/kernels/correlate_blocking.hpp - how windows of an image times a matrix are cut: bands of rows, panels, tiles.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "image.hpp"

namespace cleave::backend::host {

/// How C (m, windows) = A (m, k) patches (k, windows) is cut, k = channels * kernel * kernel in that order.
struct CorrelateBlocking {
  static constexpr long kib = 1024, rows_room = 448 * kib, panel_room = 96 * kib, image_room = 224 * kib;
  Geometry g;
  int m = 0, lanes = 1, size = 1, blocks = 1;  // size: bytes of a sum
  long k = 0, windows = 0, depth = 0;
  Tile tile = {};
  int rest = 0;                                    // rows of the last tile, if they are fewer
  bool resident = false;                           // all of A stays packed
  bool a_in_place = false, sums_in_place = false;  // otherwise sums stay in the workspace until the last step
  long sums_room = 0;                              // bytes of one of the sums of the tree of blocks
  long block_rows = 0;
  int block_channels = 0;
  Band band = {};
  bool fits = false;

  constexpr int in_band() const { return band.rows * g.out_w; }
  constexpr int in_last() const { return (g.out_h - (g.out_h - 1) / band.rows * band.rows) * g.out_w; }
  /// The vectors of the last panel of so many windows; 0: all panels are full.
  constexpr int rest_of(int count) const { return (count % (tile.vectors * lanes) + lanes - 1) / lanes; }
  constexpr long sums_row() const { return up(long{band.rows} * g.out_w, lanes); }
};
/// `held`: sums of blocks that are held at once. `same_format`: of C and of sums.
constexpr CorrelateBlocking correlate_blocking(Geometry g, int m, bool reads_a, bool same_format, int blocks, int held,
                                               int lanes, int registers, int size) {
  using To = CorrelateBlocking;
  To to{g, m, lanes, size, blocks};
  to.k = long{g.channels} * g.window();
  to.windows = long{g.out_h} * g.out_w;
  to.tile = best_tile(m, (to.windows + lanes - 1) / lanes, registers);
  to.rest = m % to.tile.rows;
  to.depth = even_block(to.k, panel_bytes / (to.tile.vectors * lanes * size));
  to.resident = up(m, to.tile.rows) * to.k * size <= To::rows_room;
  to.a_in_place = !to.resident && reads_a;
  to.sums_in_place = same_format && blocks == 1;
  to.sums_room = down(224 * To::kib / held, lanes * size);
  long const slack = 2L * lanes * size;
  long const rows_limit = to.resident || to.a_in_place ? m : down(To::rows_room / (to.depth * size), to.tile.rows);
  long const sums_limit = to.sums_in_place ? m : down(to.sums_room / (up(g.out_w, lanes) * size), to.tile.rows);
  long const limit = smaller(rows_limit, sums_limit);
  to.block_rows = m <= limit ? m : limit < to.tile.rows ? to.tile.rows : limit;
  to.block_channels = g.channels / blocks;
  Geometry of_block = g;
  of_block.channels = to.block_channels;
  long const rows = up(to.block_rows, to.tile.rows);
  to.band = best_band(of_block, (To::image_room - slack) / size,
                      to.sums_in_place ? to.windows : to.sums_room / (rows * size) - lanes, 128);
  to.fits = g.plane(to.band.rows) * to.band.channels * size + slack <= To::image_room &&
            (to.sums_in_place || to.block_rows * to.sums_row() * size <= to.sums_room);
  return to;
}

}  // namespace cleave::backend::host
