// backend/host/kernels/correlate_blocking.cpp - what a correlation packs, gathers and sums stays within its parts of the workspace.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave/backend/host/kernels/correlate_blocking.hpp>

using namespace cleave::backend::host;

TEST_CASE("rows, panels, bands and sums stay within the workspace, and tiles cover every row and window") {
  using Blocking = CorrelateBlocking;
  for (int channels : {1, 3, 64, 512}) {
    for (int extent : {5, 14, 32, 224}) {
      for (int kernel : {1, 3, 5}) {
        for (int m : {1, 7, 64, 1000}) {
          for (int kind = 0; kind < 8; ++kind) {
            bool const same = (kind & 1) != 0, reads_a = (kind & 2) != 0;
            int const lanes = (kind & 4) != 0 ? 16 : 4, registers = lanes == 16 ? 32 : 16;
            Geometry const g{channels, extent, extent, kernel, 1, kernel / 2, 1, extent, extent};
            Blocking const b = correlate_blocking(g, m, reads_a, same, 1, 1, lanes, registers, 4);
            CAPTURE(channels);
            CAPTURE(extent);
            CAPTURE(m);
            CHECK(b.fits);
            long const width = long{b.tile.vectors} * lanes;
            CHECK(b.depth * width * 4 <= Blocking::panel_room);
            CHECK((b.a_in_place || (b.resident ? m * b.k : b.block_rows * b.depth) * 4 <= Blocking::rows_room));
            CHECK((b.block_rows == m || b.block_rows % b.tile.rows == 0));
            CHECK(b.rest == m % b.tile.rows);
            CHECK(b.rest_of(b.in_band()) * lanes >= b.in_band() % width);
            CHECK((b.band.rows >= 1 && b.band.rows <= extent && b.band.channels >= 1 && b.band.channels <= channels));
            CHECK((b.in_last() > 0 && b.in_last() <= b.in_band()));
          }
        }
      }
    }
  }
}
