// backend/host/kernels/correlate_weight.hpp - the gradient of a convolution's filters: patches of the image times dy, over all images.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>

#include "correlate.hpp"

namespace cleave::backend::host {

/// How dw (filters, K), a sum over images of dy (filters, windows) patches (K, windows)^T, is cut.
struct CorrelateWeightBlocking {
  static constexpr long kib = 1024, sums_room = 512 * kib, panel_room = 256 * kib, image_room = 224 * kib;
  Geometry g;
  int filters = 0, lanes = 1;
  int block = 0, padded = 0;  // filters at once, and up to a whole vector
  Band band = {};
  Tile tile = {};
  int side = 0;            // vectors of the last tile, if they are fewer
  int rest = 0, last = 0;  // rows of the last tile, if they are fewer: of a band, of the last band
  bool fits = false;
};
constexpr CorrelateWeightBlocking correlate_weight_blocking(Geometry g, int filters, int lanes, int registers,
                                                            int size) {
  using To = CorrelateWeightBlocking;
  To to{g, filters, lanes};
  to.block = filters < 128 ? filters : 128;
  to.padded = static_cast<int>(up(to.block, lanes));
  long const windows = To::panel_room / (to.padded * size);
  Band const most = best_band(g, To::image_room / size, windows < 256 ? windows : 256, 32);
  int const fitting = static_cast<int>(To::sums_room / (long{to.padded} * g.window() * size));
  to.band = {most.channels < fitting ? most.channels : fitting, most.rows};
  int const steps = to.band.channels * g.window();
  to.tile = best_tile(steps, to.padded / lanes, registers);
  to.side = to.padded / lanes % to.tile.vectors;
  to.rest = steps % to.tile.rows;
  if (to.band.channels > 0)
    to.last = (g.channels - (g.channels - 1) / to.band.channels * to.band.channels) * g.window() % to.tile.rows;
  to.fits = to.band.channels > 0 && g.plane(to.band.rows) * to.band.channels * size <= To::image_room &&
            long{to.band.rows} * g.out_w * to.padded * size <= To::panel_room;
  return to;
}

/// What it calls on one instruction set: by rows of a tile, all, those of the last of a band, and of the last band; and
/// by vectors, all or the last.
template <class E> struct CorrelateWeightCalls {
  using Tile = void (*)(long runs, long length, long stride_a, E const* a, int const* at, E const* b, E* c, long row_c,
                        bool add);
  using Pack = void (*)(E* to, long width, void const* from, long at, long row_from, int count, long depth,
                        void const* f);
  Tile tile[3][2] = {};
  Pack pack = nullptr;
  typename CorrelateCalls<E>::Pad pad = nullptr;
};
template <class E> struct CorrelateWeightOf {
  CorrelateWeightBlocking cut;
  CorrelateWeightCalls<E> call;
};

/// dw is accumulated transposed, (K, filters): then a patch is read directly from the padded image, one element for a
/// whole tile row, and only dy is packed. Every sum is one chain over the images and their windows in order. One copy
/// of this serves all sizes.
template <class E> class CorrelateWeight {
 public:
  CorrelateWeight(CorrelateWeightOf<E> const& of, std::byte* workspace)
      : cut_(of.cut),
        call_(of.call),
        sums_(reinterpret_cast<E*>(workspace)),
        panel_(reinterpret_cast<E*>(workspace + CorrelateWeightBlocking::sums_room)),
        image_(reinterpret_cast<E*>(workspace + CorrelateWeightBlocking::sums_room +
                                    CorrelateWeightBlocking::panel_room)) {}

  /// `fx` of x and `fdy` of dy of the first image; the next ones are step_x and step_dy bytes further.
  void run(int images, std::byte const* x, void const* fx, long step_x, std::byte const* dy, void const* fdy,
           long step_dy, E* dw) const {
    Geometry const& g = cut_.g;
    long const windows = long{g.out_h} * g.out_w;
    for (int o = 0; o < cut_.filters; o += cut_.block) {
      int const filters = static_cast<int>(smaller(cut_.block, cut_.filters - o));
      for (int c = 0; c < g.channels; c += cut_.band.channels) {
        int const held = static_cast<int>(smaller(cut_.band.channels, g.channels - c));
        bool add = false;
        for (int b = 0; b < images; ++b) {
          for (int first = 0; first < g.out_h; first += cut_.band.rows, add = true) {
            int const rows = static_cast<int>(smaller(cut_.band.rows, g.out_h - first));
            call_.pad(g, image_, x + b * step_x, fx, c, held, first, rows);
            int const width = cut_.tile.vectors * cut_.lanes;
            for (int f = 0; f < cut_.padded; f += width) {
              bool const last = f + width > cut_.padded;
              int const packed = last ? cut_.side * cut_.lanes : width,
                        count = static_cast<int>(smaller(packed, filters - f));
              if (count <= 0) continue;
              call_.pack(panel_, packed, dy + b * step_dy, (o + f) * windows + long{first} * g.out_w, windows, count,
                         long{rows} * g.out_w, fdy);
              columns(last, f, held, rows, add);
            }
          }
        }
        long const k = long{held} * g.window();
        for (int f = 0; f < filters; ++f) {
          E* const to = dw + (long{o} + f) * g.channels * g.window() + long{c} * g.window();
          for (long e = 0; e < k; ++e) to[e] = sums_[e * cut_.padded + f];
        }
      }
    }
  }

 private:
  void columns(bool last, int f, int held, int rows, bool add) const {
    int const k = held * cut_.g.window(), kind = held == cut_.band.channels ? 1 : 2;
    int e = 0;
    for (; e + cut_.tile.rows <= k; e += cut_.tile.rows) one(0, last, cut_.tile.rows, e, f, rows, add);
    if (e < k) one(kind, last, k - e, e, f, rows, add);
  }
  void one(int kind, bool last, int many, int e, int f, int rows, bool add) const {
    Geometry const& g = cut_.g;
    int at[8];  // the rows of the largest tile
    long const plane = g.plane(rows);
    int channel = e / g.window(), row = e % g.window() / g.kernel, column = e % g.window() % g.kernel;
    for (int r = 0; r < many; ++r) {
      at[r] = static_cast<int>(channel * plane + g.offset(row, column));
      if (++column == g.kernel) column = 0, ++row;
      if (row == g.kernel) row = 0, ++channel;
    }
    call_.tile[kind][last](rows, g.out_w, g.stride * g.row(), image_, at, panel_, sums_ + long{e} * cut_.padded + f,
                           cut_.padded, add);
  }

  CorrelateWeightBlocking const& cut_;
  CorrelateWeightCalls<E> const& call_;
  E *sums_, *panel_, *image_;
};

/// One on one instruction set.
template <class S, class E, Geometry G, int Filters, class T, class FX, class FDY> struct CorrelateWeightOn {
  static constexpr CorrelateWeightBlocking cut =
      correlate_weight_blocking(G, Filters, S::template lanes<E>, S::most_registers, sizeof(E));
  static_assert(cut.fits, "a row of this image is wider than the workspace");

  template <int R, int V> static constexpr typename CorrelateWeightCalls<E>::Tile tile() {
    if constexpr (R > 0 && V > 0) return &S::template tile_of_runs<E, R, V>;
    return nullptr;
  }
  static void pack(E* to, long width, void const* from, long at, long row_from, int count, long depth, void const* f) {
    S::pack_rows(to, width, static_cast<T const*>(from) + at, row_from, count, depth, *static_cast<FDY const*>(f));
  }
  static constexpr CorrelateWeightOf<E> make() {
    constexpr int R = cut.tile.rows, V = cut.tile.vectors;
    CorrelateWeightOf<E> of{cut, {}};
    CorrelateWeightCalls<E>& to = of.call;
    to.tile[0][0] = tile<R, V>();
    to.tile[0][1] = tile<R, cut.side>();
    to.tile[1][0] = tile<cut.rest, V>();
    to.tile[1][1] = tile<cut.rest, cut.side>();
    to.tile[2][0] = tile<cut.last, V>();
    to.tile[2][1] = tile<cut.last, cut.side>();
    to.pack = &pack;
    to.pad = &pad_erased<E, T, FX>;
    return of;
  }
  static constexpr CorrelateWeightOf<E> correlation = make();
};

/// Images one after the other: x and dy of the first, and how far the next ones are.
template <class E, Geometry G, int Filters, class T, class FX, class FDY>
void correlate_weight(std::byte* workspace, int images, T const* x, FX const& fx, long step_x, T const* dy,
                      FDY const& fdy, long step_dy, E* dw) {
  constexpr long size = sizeof(T);
  CorrelateWeightOf<E> const* of = nullptr;
  with_simd([&]<class S>(S) { of = &CorrelateWeightOn<S, E, G, Filters, T, FX, FDY>::correlation; });
  CorrelateWeight<E>(*of, workspace)
      .run(images, reinterpret_cast<std::byte const*>(x), &fx, step_x * size, reinterpret_cast<std::byte const*>(dy),
           &fdy, step_dy * size, dw);
}

}  // namespace cleave::backend::host
