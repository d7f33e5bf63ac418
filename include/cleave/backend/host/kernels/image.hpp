// backend/host/kernels/image.hpp - an image prepared for a convolution: padded, its columns sorted by stride, a band at a time.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../../../tensor/factor.hpp"
#include "tiling.hpp"

namespace cleave::backend::host {

/// y (h', w') from windows of kernel x kernel elements `dilation` apart, windows `stride` apart, over x (channels, h,
/// w) whose elements are `spacing` apart, with zeros between them, padded by `pad` zeros (or cropped, if negative).
struct Geometry {
  int channels, h, w, kernel, stride, pad, spacing, out_h, out_w, dilation = 1;

  constexpr int window() const { return kernel * kernel; }
  constexpr int reach() const { return dilation * (kernel - 1) + 1; }
  constexpr int rows(int out_rows) const { return (out_rows - 1) * stride + reach(); }
  constexpr int columns() const { return ((out_w - 1) * stride + reach() + stride - 1) / stride; }  // of each residue
  constexpr long row() const { return long{stride} * columns(); }
  constexpr long plane(int out_rows) const { return rows(out_rows) * row(); }
  /// From a window's first element to its (k, l): neighbouring windows are one element apart, whatever the stride.
  constexpr long offset(int k, int l) const {
    return k * dilation * row() + l * dilation % stride * columns() + l * dilation / stride;
  }
};

/// How much of an image is held at a time: `channels` of it, for `rows` rows of the output.
struct Band {
  int channels, rows;
};

/// As many rows as the room and `most_columns` windows allow with enough channels for `enough` steps; then as many
/// channels as fit.
constexpr Band best_band(Geometry g, long room, long most_windows, int enough) {
  int const wanted = static_cast<int>(smaller(g.channels, (enough + g.window() - 1) / g.window()));
  int rows = g.out_h, channels = wanted;
  if (long{rows} * g.out_w > most_windows) rows = static_cast<int>(most_windows / g.out_w);
  if (rows < 1) rows = 1;
  while (rows > 1 && g.plane(rows) * channels > room) --rows;
  channels = static_cast<int>(smaller(g.channels, room / g.plane(rows)));
  return {channels < 1 ? 1 : channels, rows};
}

/// to (channels, plane), `f` of channels of x, for `out_rows` rows of the output from `first` on.
template <Geometry G, class E, class T, class F = tensor::Factor<T>>
void pad_image(E* to, T const* x, int channels, int first, int out_rows, F f = {}) {
  constexpr int columns = G.columns();
  int const top = first * G.stride - G.pad, rows = G.rows(out_rows);
  for (int c = 0; c < channels; ++c, x += long{G.h} * G.w) {
    for (int r = 0; r < rows; ++r, to += G.row()) {
      int const h = top + r;
      if (h < 0 || h % G.spacing != 0 || h / G.spacing >= G.h) {
        for (long i = 0; i < G.row(); ++i) to[i] = E{0};
        continue;
      }
      T const* const line = x + long{h / G.spacing} * G.w;
      if constexpr (G.stride == 1 && G.spacing == 1 && G.pad >= 0) {
        constexpr int kept = G.w < columns - G.pad ? G.w : columns - G.pad;
        for (int i = 0; i < G.pad && i < columns; ++i) to[i] = E{0};
        for (int i = 0; i < kept; ++i) to[G.pad + i] = f(line[i]);
        for (int i = G.pad + (kept > 0 ? kept : 0); i < columns; ++i) to[i] = E{0};
      } else {
        for (int s = 0; s < G.stride; ++s) {
          for (int q = 0; q < columns; ++q) {
            int const w = q * G.stride + s - G.pad;
            bool const inside = w >= 0 && w % G.spacing == 0 && w / G.spacing < G.w;
            to[s * columns + q] = inside ? f(line[w / G.spacing]) : E{0};
          }
        }
      }
    }
  }
}

}  // namespace cleave::backend::host
