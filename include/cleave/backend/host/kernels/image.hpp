// backend/host/kernels/image.hpp - an image prepared for a convolution: padded, its columns sorted by stride, a band at a time.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>

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
  constexpr int columns() const {  // of each residue
    return stride == 1 ? out_w - 1 + reach() : ((out_w - 1) * stride + reach() + stride - 1) / stride;
  }
  constexpr long row() const { return long{stride} * columns(); }
  constexpr long plane(int out_rows) const { return rows(out_rows) * row(); }
  /// From a window's first element to its (k, l): neighbouring windows are one element apart, whatever the stride.
  constexpr long offset(int k, int l) const {
    if (stride == 1) return k * dilation * row() + l * dilation;
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

/// How one channel is padded for some rows of the output: `f` of x (h, w) to (rows, row), both from their first row on.
template <class E, class T, class F> struct PadChannel {
  Geometry const& g;
  F const& f;
  int columns = g.columns();
  long row = g.row();

  /// The first row is `top` rows above x's first; rows outside x become zeros.
  void run(E* to, T const* x, int top, int rows) const {
    if (g.spacing > 1) {
      for (int r = 0; r < rows; ++r) {
        int const h = r - top;
        std::fill_n(to + r * row, row, E{0});
        if (h >= 0 && h % g.spacing == 0 && h / g.spacing < g.h) spread(to + r * row, x + long{h / g.spacing} * g.w);
      }
      return;
    }
    int const above = top < 0 ? 0 : top < rows ? top : rows, first = top < 0 ? -top : 0;
    int const some = g.h - first < rows - above ? g.h - first : rows - above, inside = some > 0 ? some : 0;
    std::fill_n(to, above * row, E{0});
    std::fill_n(to + (above + inside) * row, (rows - above - inside) * row, E{0});
    if (inside == 0) return;
    if (g.stride == 1) {
      side_by_side(to + above * row, x + long{first} * g.w, inside);
    } else {
      for (int r = 0; r < inside; ++r) by_stride(to + (above + r) * row, x + long{first + r} * g.w);
    }
  }

 private:
  /// Some columns of a few rows, then the next ones: compilers would make calls of a row's few zeros and its copy.
  void side_by_side(E* to, T const* x, int rows) const {
    constexpr int together = 8;
    int const begin = g.pad < 0 ? -g.pad : 0, left = g.pad < 0 ? 0 : g.pad < columns ? g.pad : columns;
    int const some = g.w - begin < columns - left ? g.w - begin : columns - left, kept = some > 0 ? some : 0;
    for (int r = 0; r < rows; r += together, to += together * row, x += long{together} * g.w) {
      int const of = rows - r < together ? rows - r : together;
      int i = 0;
      for (; i + 16 <= kept; i += 16) piece<16>(to + left + i, x + begin + i, of);
      for (; i + 4 <= kept; i += 4) piece<4>(to + left + i, x + begin + i, of);
      for (; i < kept; ++i) piece<1>(to + left + i, x + begin + i, of);
      for (i = 0; i < left; ++i) zeros(to + i, of);
      for (i = left + kept; i < columns; ++i) zeros(to + i, of);
    }
  }
  template <int Columns> void piece(E* to, T const* x, int rows) const {
    for (int r = 0; r < rows; ++r) {
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC ivdep
#endif
      for (int k = 0; k < Columns; ++k) to[r * row + k] = f(x[long{r} * g.w + k]);
    }
  }
  void zeros(E* to, int rows) const {
    for (int r = 0; r < rows; ++r) to[r * row] = E{0};
  }
  void by_stride(E* to, T const* line) const {
    for (int s = 0; s < g.stride; ++s, to += columns) {
      int const w = s - g.pad, outside = w < 0 ? (-w + g.stride - 1) / g.stride : 0;
      int const begin = outside < columns ? outside : columns, last = (g.w - w + g.stride - 1) / g.stride;
      int const end = last < begin ? begin : last < columns ? last : columns;
      for (int q = 0; q < begin; ++q) to[q] = E{0};
      for (int q = begin; q < end; ++q) to[q] = f(line[q * g.stride + w]);
      for (int q = end; q < columns; ++q) to[q] = E{0};
    }
  }
  /// Into a row of zeros.
  void spread(E* to, T const* line) const {
    int const apart = g.spacing, outside = g.pad < 0 ? (-g.pad + apart - 1) / apart : 0;
    if (g.stride == 1) {
      int const last = (columns - g.pad + apart - 1) / apart, end = last < g.w ? last : g.w;
      for (int i = outside; i < end; ++i) to[i * apart + g.pad] = f(line[i]);
      return;
    }
    for (int i = outside; i < g.w; ++i) {
      int const at = i * apart + g.pad, q = at / g.stride;
      if (q < columns) to[(at - q * g.stride) * columns + q] = f(line[i]);
    }
  }
};

/// to (channels, plane), `f` of channels of x, for `out_rows` rows of the output from `first` on.
template <class E, class T, class F = tensor::Factor<T>>
void pad_image(Geometry const& g, E* to, T const* x, int channels, int first, int out_rows, F const& f = {}) {
  PadChannel<E, T, F> const pad{g, f};
  for (int c = 0; c < channels; ++c, x += long{g.h} * g.w, to += g.plane(out_rows))
    pad.run(to, x, g.pad - first * g.stride, g.rows(out_rows));
}

}  // namespace cleave::backend::host
