// backend/host/kernels/image.cpp - a padded image holds, at each window's offset, what the window sees.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave/backend/host/kernels/image.hpp>
#include <vector>

using namespace cleave::backend::host;

namespace {

template <Geometry G> void seen_through_windows(int first, int rows) {
  std::vector<float> x(static_cast<std::size_t>(G.channels * G.h * G.w));
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i + 1);
  std::vector<float> padded(static_cast<std::size_t>(G.channels * G.plane(rows)), -1);
  pad_image(G, padded.data(), x.data(), G.channels, first, rows);
  int wrong = 0;
  for (int c = 0; c < G.channels; ++c) {
    for (int r = 0; r < rows; ++r) {
      for (int col = 0; col < G.out_w; ++col) {
        for (int k = 0; k < G.kernel; ++k) {
          for (int l = 0; l < G.kernel; ++l) {
            int const h = (first + r) * G.stride + k * G.dilation - G.pad, w = col * G.stride + l * G.dilation - G.pad;
            bool const in = h >= 0 && w >= 0 && h % G.spacing == 0 && w % G.spacing == 0 && h / G.spacing < G.h &&
                            w / G.spacing < G.w;
            float const wanted =
                in ? x[static_cast<std::size_t>((c * G.h + h / G.spacing) * G.w + w / G.spacing)] : 0.f;
            long const at = c * G.plane(rows) + r * G.stride * G.row() + col + G.offset(k, l);
            wrong += padded[static_cast<std::size_t>(at)] != wanted;
          }
        }
      }
    }
  }
  CHECK(wrong == 0);
}

}  // namespace

TEST_CASE("plain, padded, strided") {
  seen_through_windows<Geometry{2, 5, 6, 3, 1, 0, 1, 3, 4}>(0, 3);
  seen_through_windows<Geometry{2, 5, 6, 3, 1, 1, 1, 5, 6}>(0, 5);
  seen_through_windows<Geometry{1, 9, 7, 3, 2, 1, 1, 5, 4}>(0, 5);
  seen_through_windows<Geometry{1, 9, 9, 4, 3, 0, 1, 2, 2}>(0, 2);
}
TEST_CASE("windows with gaps") {
  seen_through_windows<Geometry{2, 7, 8, 3, 1, 2, 1, 7, 8, 2}>(0, 7);
  seen_through_windows<Geometry{1, 12, 11, 3, 2, 0, 1, 3, 3, 3}>(1, 2);
  seen_through_windows<Geometry{1, 5, 5, 2, 1, 1, 2, 6, 6, 5}>(0, 6);
}
TEST_CASE("rows of many columns, more padding than columns, and fewer columns than are read") {
  seen_through_windows<Geometry{2, 19, 37, 3, 1, 1, 1, 19, 37}>(0, 19);
  seen_through_windows<Geometry{1, 4, 64, 5, 1, 0, 1, 2, 62, 1}>(0, 2);
  seen_through_windows<Geometry{1, 3, 2, 2, 1, 6, 1, 14, 13}>(0, 14);
  seen_through_windows<Geometry{1, 20, 40, 3, 2, -3, 1, 6, 16}>(0, 6);
  seen_through_windows<Geometry{1, 5, 6, 3, 2, 1, 3, 7, 8}>(0, 7);
}
TEST_CASE("a band in the middle") { seen_through_windows<Geometry{2, 8, 8, 3, 1, 1, 1, 8, 8}>(3, 2); }
TEST_CASE("spread out by zeros, as the way back of a stride wants it; cut off by a negative pad") {
  seen_through_windows<Geometry{2, 3, 3, 3, 1, 1, 2, 5, 5}>(0, 5);
  seen_through_windows<Geometry{1, 6, 6, 1, 1, -1, 1, 4, 4}>(0, 4);
}

TEST_CASE("a band keeps within its room, or is the least there can be") {
  constexpr Geometry g{64, 32, 32, 5, 1, 2, 1, 32, 32};
  for (long room : {100L, 2000L, 8000L, 100000L, 1000000L}) {
    for (long windows : {1L, 100L, 5000L}) {
      Band const b = best_band(g, room, windows, 256);
      CHECK((b.rows >= 1 && b.rows <= g.out_h && b.channels >= 1 && b.channels <= g.channels));
      CHECK((b.channels * g.plane(b.rows) <= room || (b.rows == 1 && b.channels == 1)));
      CHECK((b.rows * g.out_w <= windows || b.rows == 1));
    }
  }
  CHECK(best_band(g, 1L << 30, 1L << 30, 256).channels == 64);
}
