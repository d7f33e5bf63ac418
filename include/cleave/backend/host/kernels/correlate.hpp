// backend/host/kernels/correlate.hpp - windows of an image times a matrix: the forward pass of a convolution, and its adjoint.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>

#include "block_tree.hpp"
#include "image.hpp"
#include "pack.hpp"

namespace cleave::backend::host {

/// C (M, windows) = A (M, K) patches (K, windows), K = channels * kernel * kernel in that order. A panel of patches is
/// gathered from a padded band of the image into the first-level cache; A is packed once for all images. Every sum is
/// one chain in the order of K, as in gemm.hpp, or the tree of those over `Blocks` equal parts of the channels.
template <class S, class E, Geometry G, int M, class A, class T, int Blocks = 1> struct Correlate {
  static_assert(G.channels % Blocks == 0);
  static constexpr long kib = 1024, rows_room = 448 * kib, panel_room = 96 * kib, image_room = 224 * kib;
  static constexpr long K = long{G.channels} * G.window(), windows = long{G.out_h} * G.out_w, size = sizeof(E);
  static constexpr int lanes = S::template lanes<E>;
  static constexpr Tile tile = best_tile(M, (windows + lanes - 1) / lanes, S::most_registers);
  static constexpr int rest = M % tile.rows;
  static constexpr long depth = even_block(K, panel_bytes / (tile.vectors * lanes * size));

  static constexpr bool resident = up(M, tile.rows) * K * size <= rows_room;  // all of A stays packed
  static constexpr bool a_in_place = !resident && readable<E, A>();
  static constexpr bool sums_in_place =
      std::is_same_v<E, T> && Blocks == 1;  // otherwise they stay in the workspace until the last step
  static constexpr BlockTree<Blocks> tree{};
  static constexpr long sums_room = down(224 * kib / tree.depth, lanes*size), slack = 2 * lanes * size;
  static constexpr long rows_limit = resident || a_in_place ? M : down(rows_room / (depth * size), tile.rows);
  static constexpr long sums_limit = sums_in_place ? M : down(sums_room / (up(G.out_w, lanes) * size), tile.rows);
  static constexpr long limit = rows_limit < sums_limit ? rows_limit : sums_limit;
  static constexpr long block_rows = M <= limit ? M : limit < tile.rows ? tile.rows : limit;
  static constexpr int block_channels = G.channels / Blocks;
  static constexpr Geometry of_block = [] {
    Geometry of = G;
    of.channels = block_channels;
    return of;
  }();
  static constexpr Band band =
      best_band(of_block, (image_room - slack) / size,
                sums_in_place ? windows : sums_room / (up(block_rows, tile.rows) * size) - lanes, 128);
  static constexpr bool fits = G.plane(band.rows) * band.channels * size + slack <= image_room &&
                               (sums_in_place || block_rows * up(band.rows * G.out_w, lanes) * size <= sums_room);

  static constexpr int in_band = band.rows * G.out_w,
                       in_last = (G.out_h - (G.out_h - 1) / band.rows * band.rows) * G.out_w;
  /// The vectors of the last panel of so many windows; 0: all panels are full.
  static constexpr int rest_of(int count) { return (count % (tile.vectors * lanes) + lanes - 1) / lanes; }

  A a;
  E *rows, *panel, *image, *sums;
  long begin = 0;  // the first step of a chain

  Correlate(std::byte* workspace, A from)
      : a(from),
        rows(reinterpret_cast<E*>(workspace)),
        panel(reinterpret_cast<E*>(workspace + rows_room)),
        image(reinterpret_cast<E*>(workspace + rows_room + panel_room)),
        sums(reinterpret_cast<E*>(workspace + rows_room + panel_room + image_room)) {
    for (long k = 0; resident && k < K; k += depth) pack_rows(rows + k * M, 0, M, k, smaller(depth, K - k));
  }

  /// One image: `f` of x (channels, h, w) to y (M, windows). `out` is the epilogue of each tile.
  template <class F, class Out> void run(T const* x, F f, Out out) const {
    for (long i = 0; i < M; i += block_rows) {
      for (int first = 0; first < G.out_h; first += band.rows) {
        int const out_rows = static_cast<int>(smaller(band.rows, G.out_h - first));
        if constexpr (Blocks == 1) {
          channels(0, x, f, i, first, out_rows, out);
        } else {
          blocks(x, f, i, first, out_rows, out);
        }
      }
    }
  }

 private:
  /// Those of one block, from `from` on, for some rows of A and of the image.
  template <class F, class Out>
  void channels(int from, T const* x, F f, long i, int first, int out_rows, Out out) const {
    for (int c = from; c < from + block_channels; c += band.channels) {
      int const held = static_cast<int>(smaller(band.channels, from + block_channels - c));
      pad_image<G>(image, x + long{c} * G.h * G.w, held, first, out_rows, f);
      steps(i, smaller(block_rows, M - i), first, out_rows, long{c} * G.window(), long{held} * G.window(), out);
    }
  }
  template <class F, class Out> void blocks(T const* x, F f, long i, int first, int out_rows, Out out) const {
    constexpr long stride = up(band.rows * G.out_w, lanes);
    long const m = smaller(block_rows, M - i);
    Correlate at = *this;
    for (int q = 0; q < Blocks; ++q) {
      at.begin = long{q} * block_channels * G.window();
      at.channels(q * block_channels, x, f, i, first, out_rows, out);
      for (int merges = tree.merges[q]; merges > 0; --merges) {
        at.sums -= sums_room / size;
        S::add(at.sums, 0, at.sums, 0, at.sums + sums_room / size, 0, 1, static_cast<int>(m * stride));
      }
      at.sums += sums_room / size;
    }
    out.template done<S>(sums, stride, i, long{first} * G.out_w, static_cast<int>(m), out_rows * G.out_w);
  }
  void pack_rows(E* to, long i0, long m, long k, long count) const {
    long i = 0;
    for (; i + tile.rows <= m; i += tile.rows)
      a.template pack<S, E, tile.rows>(to + i * count, i0 + i, tile.rows, k, count);
    if constexpr (rest > 0) {
      if (i < m) a.template pack<S, E, rest>(to + i * count, i0 + i, rest, k, count);
    }
  }

  /// The steps of k for the channels held; a block of A ends with these channels, or at `depth`.
  template <class Out> void steps(long i, long m, int first, int out_rows, long k0, long count, Out out) const {
    int at[depth];
    for (long k = k0; k < k0 + count;) {
      long const block = k / depth * depth;  // as A is packed
      long const n = smaller(smaller(block + depth, K), k0 + count) - k;
      for (long s = 0; s < n; ++s) {
        long const e = k - k0 + s, in = e % G.window();
        at[s] = static_cast<int>(e / G.window() * G.plane(out_rows) +
                                 G.offset(static_cast<int>(in / G.kernel), static_cast<int>(in % G.kernel)));
      }
      if constexpr (!resident && !a_in_place) pack_rows(rows, i, m, k, n);
      long const total = long{out_rows} * G.out_w;
      long j = 0;
      for (; j + tile.vectors * lanes <= total; j += tile.vectors * lanes) {
        columns<tile.vectors>(i, m, first, j, tile.vectors * lanes, k, n, at, out);
      }
      if (total == in_band) last_columns<rest_of(in_band)>(i, m, first, j, total, k, n, at, out);
      if (total != in_band) last_columns<rest_of(in_last)>(i, m, first, j, total, k, n, at, out);
      k += n;
    }
  }

  template <int V, class Out>
  void last_columns(long i, long m, int first, long j, long total, long k, long n, int const* at, Out out) const {
    if constexpr (V > 0) columns<V>(i, m, first, j, static_cast<int>(total - j), k, n, at, out);
  }
  template <int V, class Out>
  void columns(long i0, long m, int first, long j, int count, long k, long n, int const* at, Out out) const {
    int pair[2 * V * lanes], pieces = 0;
    for (int done = 0; done < count;) {
      int const row = static_cast<int>((j + done) / G.out_w), column = static_cast<int>((j + done) % G.out_w);
      int const length = static_cast<int>(smaller(G.out_w - column, count - done));
      for (int v = 0; v < length; v += lanes, ++pieces) {
        pair[2 * pieces] = static_cast<int>(row * G.stride * G.row()) + column + v;
        pair[2 * pieces + 1] = done + v;
      }
      done += length;
    }
    S::template pack_pieces<E, V * lanes>(panel, image, at, n, pair, pieces);
    long i = 0;
    for (; i + tile.rows <= m; i += tile.rows) one<tile.rows, V>(i0, i, first, j, count, k, n, out);
    if constexpr (rest > 0) {
      if (i < m) one<rest, V>(i0, i, first, j, count, k, n, out);
    }
  }

  template <int R, int V, class Out>
  void one(long i0, long i, int first, long j, int count, long k, long n, Out out) const {
    auto const multiply = [&](E* c, long stride) {
      if constexpr (a_in_place) {
        S::template tile<E, R, V, false>(n, a.at(i0 + i, k), a.line(), a.step(), panel, V * lanes, c, stride,
                                         k > begin);
      } else if constexpr (resident) {
        long const block = k / depth * depth, length = smaller(depth, K - block);
        E const* const left = rows + block * M + (i0 + i) * length + (k - block) * R;
        S::template tile<E, R, V, true>(n, left, 1, R, panel, V * lanes, c, stride, k > begin);
      } else {
        S::template tile<E, R, V, true>(n, rows + i * n, 1, R, panel, V * lanes, c, stride, k > begin);
      }
    };
    long const place = long{first} * G.out_w + j;
    if constexpr (!sums_in_place) {
      constexpr long stride = up(band.rows * G.out_w, lanes);
      multiply(sums + i * stride + j, stride);
      if (Blocks == 1 && k + n == K) out.template done<S>(sums + i * stride + j, stride, i0 + i, place, R, count);
    } else {
      E* const c = out.at(i0 + i, place);
      if (count == V * lanes) {
        multiply(c, windows);
      } else {
        E edge[R * V * lanes]{};
        for (int r = 0; k > 0 && r < R; ++r) {
          for (int e = 0; e < count; ++e) edge[r * V * lanes + e] = c[r * windows + e];
        }
        multiply(edge, V * lanes);
        for (int r = 0; r < R; ++r) {
          for (int e = 0; e < count; ++e) c[r * windows + e] = edge[r * V * lanes + e];
        }
      }
      if (Out::ends && k + n == K) out.template done<S>(c, windows, i0 + i, place, R, count);
    }
  }
};

}  // namespace cleave::backend::host
