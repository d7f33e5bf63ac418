// schedule/image_rows.cpp - rows that windows read of other ranks, told by hand: where they lie, who reads whose, zeros.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave.hpp>
#include <cleave/schedule/image_rows.hpp>

using namespace cleave;
using namespace cleave::schedule;

namespace {

struct Net : Sequential<Image<2, 6, 4>, Conv<2, 3, Pad<1>>, Relu, Conv<3, 5, Pad<2>>, Linear<2>, CrossEntropy> {};
struct P : Plan<Net, Batch<4>, MicroBatches<4>, DataParallel<Sync>, ModelParallel<SplitPositions, Ways<3>>> {};

/// Of the second convolution, whose windows reach two rows up and down, on one replica.
ImageRows rows_of_second() {
  Program const& p = program<P>;
  int k = 0;
  while (p.node[k].forward != op::Verb::Halo) ++k;
  return {p, p.node[k], P::share(P::ranks_of(1)), 0, 0};
}

}  // namespace

TEST_CASE("each rank reads its rows and two on either side, within the image") {
  ImageRows const rows = rows_of_second();
  CHECK(rows.planes == 4 * 2);
  CHECK(rows.padded.rows == 6);
  CHECK(rows.padded_width() == 8);
  CHECK(rows.has(1) == Range{2, 4});
  CHECK(rows.reads(0) == Range{0, 4});
  CHECK(rows.reads(1) == Range{0, 6});
  CHECK(rows.reads(2) == Range{2, 6});
}
TEST_CASE("where a row lies in the part and in what is read, and zeros around the image") {
  ImageRows const rows = rows_of_second();
  CHECK(rows.in_part({3, 4}, 1).begin == 4);            // the second of two rows of 4
  CHECK(rows.in_padded({3, 4}, 1).begin == 3 * 8 + 2);  // of rank 1 row 0 is the first read
  CHECK(rows.in_padded({3, 4}, 1).block_apart == 6 * 8);
  long zeros = 0, blocks = 0;
  rows.each_zeros(0, [&](Strided at) {
    zeros += at.size() / at.blocks;
    blocks = at.blocks;
  });
  CHECK(zeros == 2 * 8 + 4 * (2 + 2));  // two rows above, and columns beside four rows
  CHECK(blocks == rows.planes);
}
TEST_CASE("a rank's rows in parts that the same ranks read, and what it sends") {
  ImageRows const rows = rows_of_second();
  int parts = 0;
  rows.each_read(0, 3, [&](Range of, Range readers) {
    ++parts;
    CHECK(of == Range{0, 2});
    CHECK(readers == Range{0, 2});
  });
  CHECK(parts == 1);
  rows.each_read(1, 3, [&](Range of, Range readers) {
    CHECK(of == Range{2, 4});
    CHECK(readers == Range{0, 3});
  });
  CHECK(rows.sent(0, 3, true) == 2 * 4 * rows.planes);   // to rank 1
  CHECK(rows.sent(1, 3, true) == 4 * 4 * rows.planes);   // two rows to each other rank
  CHECK(rows.sent(0, 3, false) == 2 * 4 * rows.planes);  // gradients of rank 1's rows, of which it has read two
}
