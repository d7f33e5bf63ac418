// backend/host/kernels/correlate_weight.hpp - the gradient of a convolution's filters: patches of the image times dy, over all images.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>

#include "image.hpp"
#include "pack.hpp"

namespace cleave::backend::host {

/// dw (o, K) = sum over images of dy (o, windows) patches (K, windows)^T. It is accumulated transposed, (K, o): then a
/// patch is read directly from the padded image, one element for a whole tile row, and only dy is packed. Every sum is
/// one chain over the images and their windows in order.
template <class S, class E, Geometry G, int O> struct CorrelateWeight {
  static constexpr long kib = 1024, sums_room = 512 * kib, panel_room = 256 * kib, image_room = 224 * kib;
  static constexpr long size = sizeof(E), plane = long{G.h} * G.w, windows = long{G.out_h} * G.out_w;
  static constexpr int lanes = S::template lanes<E>;
  static constexpr int block = O < 128 ? O : 128;  // filters at once
  static constexpr int padded = static_cast<int>(up(block, lanes));
  static constexpr Band most =
      best_band(G, image_room / size, panel_room / (padded * size) < 256 ? panel_room / (padded * size) : 256, 32);
  static constexpr int fitting = static_cast<int>(sums_room / (long{padded} * G.window() * size));
  static constexpr Band band{most.channels < fitting ? most.channels : fitting, most.rows};
  static constexpr int steps = band.channels * G.window();
  static constexpr int in_last_channels =
      band.channels < 1 ? 0 : (G.channels - (G.channels - 1) / band.channels * band.channels) * G.window();
  static constexpr Tile tile = best_tile(steps, padded / lanes, S::most_registers);
  static constexpr int side = padded / lanes % tile.vectors;
  static constexpr bool fits = band.channels > 0 && G.plane(band.rows) * band.channels* size
                                                        <= image_room&& long{band.rows} * G.out_w* padded* size
                                                        <= panel_room;

  E *sums, *panel, *image;

  explicit CorrelateWeight(std::byte* workspace)
      : sums(reinterpret_cast<E*>(workspace)),
        panel(reinterpret_cast<E*>(workspace + sums_room)),
        image(reinterpret_cast<E*>(workspace + sums_room + panel_room)) {}

  /// `fx` of x and `fdy` of dy of the first image; the next ones are step_x and step_dy further.
  template <class T, class FX, class FDY>
  void run(int images, T const* x, FX fx, long step_x, T const* dy, FDY fdy, long step_dy, E* dw) const {
    for (int o = 0; o < O; o += block) {
      int const filters = static_cast<int>(smaller(block, O - o));
      for (int c = 0; c < G.channels; c += band.channels) {
        int const held = static_cast<int>(smaller(band.channels, G.channels - c));
        bool add = false;
        for (int b = 0; b < images; ++b) {
          for (int first = 0; first < G.out_h; first += band.rows, add = true) {
            int const rows = static_cast<int>(smaller(band.rows, G.out_h - first));
            pad_image<G>(image, x + b * step_x + c * plane, held, first, rows, fx);
            T const* const d = dy + b * step_dy + o * windows + long{first} * G.out_w;
            int f = 0;
            for (; f + tile.vectors * lanes <= padded; f += tile.vectors * lanes) {
              columns<tile.vectors>(d, fdy, f, filters, held, rows, add);
            }
            if constexpr (side > 0) columns<side>(d, fdy, f, filters, held, rows, add);
          }
        }
        long const k = long{held} * G.window();
        for (int f = 0; f < filters; ++f) {
          E* const to = dw + (long{o} + f) * G.channels * G.window() + long{c} * G.window();
          for (long e = 0; e < k; ++e) to[e] = sums[e * padded + f];
        }
      }
    }
  }

 private:
  template <int V, class T, class FDY>
  void columns(T const* dy, FDY fdy, int f, int filters, int held, int rows, bool add) const {
    int const count = static_cast<int>(smaller(V * lanes, filters - f));
    if (count <= 0) return;
    S::pack_rows(panel, V * lanes, dy + f * windows, windows, count, long{rows} * G.out_w, fdy);
    int const k = held * G.window();
    int e = 0;
    for (; e + tile.rows <= k; e += tile.rows) one<tile.rows, V>(e, f, rows, add);
    if (held == band.channels) last_rows<steps % tile.rows, V>(e, f, rows, add);
    if (held != band.channels) last_rows<in_last_channels % tile.rows, V>(e, f, rows, add);
  }
  template <int R, int V> void last_rows(int e, int f, int rows, bool add) const {
    if constexpr (R > 0) one<R, V>(e, f, rows, add);
  }

  template <int R, int V> void one(int e, int f, int rows, bool add) const {
    int at[R];
    for (int r = 0; r < R; ++r) {
      int const in = (e + r) % G.window();
      at[r] = static_cast<int>((e + r) / G.window() * G.plane(rows) + G.offset(in / G.kernel, in % G.kernel));
    }
    S::template tile_of_runs<E, R, V>(rows, G.out_w, G.stride * G.row(), image, at, panel, sums + long{e} * padded + f,
                                      padded, add);
  }
};

}  // namespace cleave::backend::host
