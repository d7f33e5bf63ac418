// backend/host/kernels/correlate.hpp - windows of an image times a matrix: the forward pass of a convolution, and its adjoint.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cstddef>
#include <type_traits>

#include "block_tree.hpp"
#include "correlate_blocking.hpp"
#include "gemm.hpp"

namespace cleave::backend::host {

/// What a correlation calls on one instruction set: by rows of a tile, all or the last; and by vectors, all, those of
/// the last panel of a band, and of the last band.
template <class E> struct CorrelateCalls {
  using Pieces = void (*)(E* to, E const* image, int const* at, long depth, int const* pair, int pieces);
  using Pad = void (*)(Geometry const& g, E* to, void const* x, void const* f, int from, int channels, int first,
                       int out_rows);
  typename GemmCalls<E>::Tile tile[2][3] = {};
  typename GemmCalls<E>::Pack pack_a[2] = {};
  Pieces pieces[3] = {};
  Pad pad = nullptr;
  typename GemmCalls<E>::Copy copy = nullptr;
  void (*add)(E* c, long row_c, E const* a, long row_a, E const* b, long row_b, int rows, int columns) = nullptr;
  typename GemmCalls<E>::Done done = nullptr;
  int const* merges = nullptr;  // behind each block
};
/// A correlation on one instruction set: all of it that depends on its sizes and types.
template <class E> struct CorrelateOf {
  CorrelateBlocking cut;
  CorrelateCalls<E> call;
};

/// C = A patches. A panel of patches is gathered from a padded band of the image into the first-level cache; A is
/// packed once for all images. Every sum is one chain in the order of k, as in gemm.hpp, or the tree of those over
/// equal blocks of the channels. One copy of this serves all sizes.
template <class E> class Correlate {
 public:
  /// `of`: A, and where it lies, if it is read in place.
  Correlate(CorrelateOf<E> const& from, GemmOperands<E> const& of, std::byte* workspace)
      : cut_(from.cut),
        call_(from.call),
        of_(of),
        rows_(reinterpret_cast<E*>(workspace)),
        panel_(reinterpret_cast<E*>(workspace + CorrelateBlocking::rows_room)),
        image_(reinterpret_cast<E*>(workspace + CorrelateBlocking::rows_room + CorrelateBlocking::panel_room)),
        sums_(reinterpret_cast<E*>(workspace + CorrelateBlocking::rows_room + CorrelateBlocking::panel_room +
                                   CorrelateBlocking::image_room)) {
    for (long k = 0; cut_.resident && k < cut_.k; k += cut_.depth)
      pack_rows(rows_ + k * cut_.m, 0, cut_.m, k, smaller(cut_.depth, cut_.k - k));
  }

  /// One image: `f` of x (channels, h, w) to y (m, windows), whose epilogue of each tile is `out`; at c, if sums are in
  /// place.
  void run(void const* x, void const* f, void const* out, E* c) {
    x_ = x, f_ = f, out_ = out, c_ = c;
    for (long i = 0; i < cut_.m; i += cut_.block_rows) {
      for (int first = 0; first < cut_.g.out_h; first += cut_.band.rows) {
        int const out_rows = static_cast<int>(smaller(cut_.band.rows, cut_.g.out_h - first));
        cut_.blocks == 1 ? channels(0, i, first, out_rows) : blocks(i, first, out_rows);
      }
    }
  }

 private:
  /// Those of one block, from `from` on, for some rows of A and of the image.
  void channels(int from, long i, int first, int out_rows) {
    for (int c = from; c < from + cut_.block_channels; c += cut_.band.channels) {
      int const held = static_cast<int>(smaller(cut_.band.channels, from + cut_.block_channels - c));
      call_.pad(cut_.g, image_, x_, f_, c, held, first, out_rows);
      steps(i, smaller(cut_.block_rows, cut_.m - i), first, out_rows, long{c} * cut_.g.window(),
            long{held} * cut_.g.window());
    }
  }
  void blocks(long i, int first, int out_rows) {
    long const m = smaller(cut_.block_rows, cut_.m - i), room = cut_.sums_room / cut_.size, stride = cut_.sums_row();
    E* const sums = sums_;
    for (int q = 0; q < cut_.blocks; ++q) {
      begin_ = long{q} * cut_.block_channels * cut_.g.window();
      channels(q * cut_.block_channels, i, first, out_rows);
      for (int merges = call_.merges[q]; merges > 0; --merges) {
        sums_ -= room;
        call_.add(sums_, 0, sums_, 0, sums_ + room, 0, 1, static_cast<int>(m * stride));
      }
      sums_ += room;
    }
    sums_ = sums;
    begin_ = 0;
    call_.done(out_, sums, stride, i, long{first} * cut_.g.out_w, static_cast<int>(m), out_rows * cut_.g.out_w);
  }
  void pack_rows(E* to, long i0, long m, long k, long count) const {
    long i = 0;
    for (; i + cut_.tile.rows <= m; i += cut_.tile.rows)
      call_.pack_a[0](of_.a, to + i * count, i0 + i, cut_.tile.rows, k, count);
    if (i < m) call_.pack_a[1](of_.a, to + i * count, i0 + i, cut_.rest, k, count);
  }

  /// Some rows of A from i on, and steps of k.
  struct RowsAndSteps {
    long i, m, k, n, first_window;
  };
  /// The steps of k for the channels held; a block of A ends with these channels, or at `depth`.
  void steps(long i, long m, int first, int out_rows, long k0, long count) const {
    int at[panel_bytes / 16];  // where each step's element of a window is
    Geometry const& g = cut_.g;
    long const plane = g.plane(out_rows);
    int const width = cut_.tile.vectors * cut_.lanes;
    int row = 0, column = 0;
    long channel = 0;
    for (long k = k0; k < k0 + count;) {
      long const block = k / cut_.depth * cut_.depth;  // as A is packed
      long const n = smaller(smaller(block + cut_.depth, cut_.k), k0 + count) - k;
      for (long s = 0; s < n; ++s) {
        at[s] = static_cast<int>(channel * plane + g.offset(row, column));
        if (++column == g.kernel) column = 0, ++row;
        if (row == g.kernel) row = 0, ++channel;
      }
      if (!cut_.resident && !cut_.a_in_place) pack_rows(rows_, i, m, k, n);
      RowsAndSteps const part{i, m, k, n, long{first} * g.out_w};
      long const total = long{out_rows} * g.out_w;
      long j = 0;
      for (; j + width <= total; j += width) columns(part, 0, j, width, at);
      if (j < total) columns(part, total == cut_.in_band() ? 1 : 2, j, static_cast<int>(total - j), at);
      k += n;
    }
  }
  /// `kind` of their vectors: as in CorrelateCalls.
  void columns(RowsAndSteps const& p, int kind, long j, int count, int const* at) const {
    Geometry const& g = cut_.g;
    int pair[2 * most_columns], pieces = 0;
    int row = static_cast<int>(j / g.out_w), column = static_cast<int>(j % g.out_w);
    for (int done = 0; done < count; ++row, column = 0) {
      int const length = static_cast<int>(smaller(g.out_w - column, count - done));
      for (int v = 0; v < length; v += cut_.lanes, ++pieces) {
        pair[2 * pieces] = static_cast<int>(row * g.stride * g.row()) + column + v;
        pair[2 * pieces + 1] = done + v;
      }
      done += length;
    }
    call_.pieces[kind](panel_, image_, at, p.n, pair, pieces);
    long i = 0;
    for (; i + cut_.tile.rows <= p.m; i += cut_.tile.rows) one(p, false, kind, cut_.tile.rows, i, j, count);
    if (i < p.m) one(p, true, kind, cut_.rest, i, j, count);
  }

  void one(RowsAndSteps const& p, bool last_rows, int kind, int many, long i, long j, int count) const {
    int const vectors = kind == 0   ? cut_.tile.vectors
                        : kind == 1 ? cut_.rest_of(cut_.in_band())
                                    : cut_.rest_of(cut_.in_last());
    long const packed = vectors * cut_.lanes;
    bool const ends = p.k + p.n == cut_.k;
    auto const multiply = [&](E* c, long stride) {
      E const* left = rows_ + i * p.n;
      long row_a = 1, step_a = many;
      if (cut_.a_in_place) {
        left = of_.a_at + (p.i + i) * of_.row_a + p.k * of_.step_a, row_a = of_.row_a, step_a = of_.step_a;
      } else if (cut_.resident) {
        long const block = p.k / cut_.depth * cut_.depth, length = smaller(cut_.depth, cut_.k - block);
        left = rows_ + block * cut_.m + (p.i + i) * length + (p.k - block) * many;
      }
      call_.tile[last_rows][kind](p.n, left, row_a, step_a, panel_, packed, c, stride, p.k > begin_);
    };
    long const place = p.first_window + j;
    if (!cut_.sums_in_place) {
      long const stride = cut_.sums_row();
      E* const c = sums_ + i * stride + j;
      multiply(c, stride);
      if (cut_.blocks == 1 && ends) call_.done(out_, c, stride, p.i + i, place, many, count);
      return;
    }
    E* const c = c_ + (p.i + i) * cut_.windows + place;
    if (count == packed) {
      multiply(c, cut_.windows);
    } else {
      alignas(64) E edge[most_columns];
      if (p.k > 0) {
        std::fill_n(edge, many * packed, E{0});
        call_.copy(edge, packed, c, cut_.windows, many, count);
      }
      multiply(edge, packed);
      call_.copy(c, cut_.windows, edge, packed, many, count);
    }
    if (ends && call_.done) call_.done(out_, c, cut_.windows, p.i + i, place, many, count);
  }
  static constexpr int most_columns = 32 * 64 / int{sizeof(E)};  // 32 vectors of 64 bytes

  CorrelateBlocking const& cut_;
  CorrelateCalls<E> const& call_;
  GemmOperands<E> const of_;
  E *rows_, *panel_, *image_, *sums_;
  long begin_ = 0;  // the first step of a chain
  void const *x_ = nullptr, *f_ = nullptr, *out_ = nullptr;
  E* c_ = nullptr;
};

template <class E, class T, class F>
void pad_erased(Geometry const& g, E* to, void const* x, void const* f, int from, int channels, int first,
                int out_rows) {
  pad_image(g, to, static_cast<T const*>(x) + long{from} * g.h * g.w, channels, first, out_rows,
            *static_cast<F const*>(f));
}

/// One on one instruction set.
template <class S, class E, Geometry G, int M, class A, class T, class F, int Blocks, class Out> struct CorrelateOn {
  static_assert(G.channels % Blocks == 0);
  static constexpr BlockTree<Blocks> tree{};
  static constexpr int lanes = S::template lanes<E>;
  static constexpr CorrelateBlocking cut = correlate_blocking(G, M, readable<E, A>(), std::is_same_v<E, T>, Blocks,
                                                              tree.depth, lanes, S::most_registers, sizeof(E));
  static_assert(cut.fits, "a row of this image is wider than the workspace");

  template <int V> static constexpr typename CorrelateCalls<E>::Pieces pieces() {
    if constexpr (V > 0) return &S::template pack_pieces<E, V * lanes>;
    return nullptr;
  }
  static constexpr CorrelateOf<E> make() {
    using Of = GemmFunctions<S, E, A, A>;
    constexpr int R = cut.tile.rows, V = cut.tile.vectors, in_band = cut.rest_of(cut.in_band()),
                  in_last = cut.rest_of(cut.in_last());
    constexpr bool packs = !cut.a_in_place;
    CorrelateOf<E> of{cut, {}};
    CorrelateCalls<E>& to = of.call;
    to.tile[0][0] = Of::template tile<R, V, packs>();
    to.tile[0][1] = Of::template tile<R, in_band, packs>();
    to.tile[0][2] = Of::template tile<R, in_last, packs>();
    to.tile[1][0] = Of::template tile<cut.rest, V, packs>();
    to.tile[1][1] = Of::template tile<cut.rest, in_band, packs>();
    to.tile[1][2] = Of::template tile<cut.rest, in_last, packs>();
    if constexpr (packs) {
      to.pack_a[0] = Of::template pack_a<R>();
      to.pack_a[1] = Of::template pack_a<cut.rest>();
    }
    to.pieces[0] = pieces<V>();
    to.pieces[1] = pieces<in_band>();
    to.pieces[2] = pieces<in_last>();
    to.pad = &pad_erased<E, T, F>;
    to.copy = &S::template copy<E>;
    to.add = &S::template add<E>;
    if constexpr (Out::ends || !cut.sums_in_place) to.done = &Of::template done<Out>;
    to.merges = tree.merges;
    return of;
  }
  static constexpr CorrelateOf<E> correlation = make();
};
/// Images one after the other, `f` of x (channels, h, w), each `step_x` from the one before, by A to `out`, whose y is
/// `step_y` from the one before.
template <class E, Geometry G, int M, int Blocks, class A, class T, class F, class Out>
void correlate(std::byte* workspace, A const& a, int images, T const* x, long step_x, F const& f, long step_y,
               Out out) {
  CorrelateOf<E> const* of = nullptr;
  with_simd([&]<class S>(S) { of = &CorrelateOn<S, E, G, M, A, T, F, Blocks, Out>::correlation; });
  GemmOperands<E> operands = operands_of<E>(a, a, Nowhere{});
  operands.out = nullptr;
  Correlate<E> run(*of, operands, workspace);
  for (int b = 0; b < images; ++b, x += step_x, out.y += step_y) {
    E* c = nullptr;
    if constexpr (std::is_same_v<E, T>) c = out.y;
    run.run(x, &f, &out, c);
  }
}

}  // namespace cleave::backend::host
