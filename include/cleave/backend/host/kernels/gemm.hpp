// backend/host/kernels/gemm.hpp - C = A B of constant sizes: panels through the workspace, tiles in registers, an epilogue.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>

#include "pack.hpp"
#include "tiling.hpp"

namespace cleave::backend::host {

/// Where sums are stored. `in_place`: C itself, (M, Stride) of the accumulator's type, holds them between blocks of k.
/// Otherwise `done` receives each finished tile. An output may have both: then `done` receives the tile in C. One with
/// a member `one_chain` takes no sums in another order than that of k.
template <class E, long Stride> struct Store {
  static constexpr bool in_place = true, ends = false;
  static constexpr long stride = Stride;
  E* c;
  E* at(long i, long j) const { return c + i * Stride + j; }
};

/// One product on one instruction set, of M rows, or of up to `Most` times M rows, as many as `run` is told: one after
/// the other in A and in C, each in tiles of its own. Every element of C is one chain of multiply-adds in the order of
/// k, whatever the tiles and blocks: its bits depend on K and the instruction set, not on M, N or the other rows. (A
/// lone row times rows that lie along k has an order of its own, by lanes.)
template <class S, class E, long M, long N, long K, bool Add, long Most, class A, class B, class Out> struct Gemm {
  static constexpr int lanes = S::template lanes<E>;
  static constexpr long vectors = (N + lanes - 1) / lanes;
  static constexpr Tile tile = best_tile(M, vectors, S::most_registers);
  static constexpr int width = tile.vectors * lanes, rest = static_cast<int>(M % tile.rows);
  static constexpr int side = static_cast<int>(N % width), side_vectors = (side + lanes - 1) / lanes;
  static constexpr long tiles = (M + tile.rows - 1) / tile.rows, panels = (N + width - 1) / width;

  // A panel is worth packing once several tiles use it; rows are, once several panels do. Where B lies, the vectors of
  // its last columns reach into the next row, and with half a vector or more of columns not beyond that.
  static constexpr bool b_may_lie = readable_across<E, B>() && tiles <= 2 && N >= lanes / 2;
  static constexpr bool b_in_place = b_may_lie && Most == 1;
  // Many rows pass through all k for some columns of a wide B at a time, which lie on few pages, and A is read in
  // place. With fewer rows than these that is slower.
  static constexpr bool some_columns = Out::in_place && panels > 8 &&
                                       K* width* long{sizeof(E)} > panel_bytes&& M >= (lies_along_k<B>() ? 64 : 128);
  static constexpr bool a_in_place =
      readable<E, A>() && (some_columns || panels <= 4 || M * K * long{sizeof(E)} <= (32L << 10));
  // Sums that cannot wait in C stay in their tile, if a panel of all k fits half the space for them: A is packed once.
  static constexpr bool whole_depth = !Out::in_place && K * width * long{sizeof(E)} <= long_panel_bytes;
  static constexpr long most_depth = whole_depth ? K : panel_bytes / (width * long{sizeof(E)});
  static constexpr long lying = a_in_place ? K : smaller(K, rows_bytes / (tile.rows * long{sizeof(E)}));  // of B
  static constexpr long depth = even_block(K, b_in_place ? lying : most_depth < 32 ? 32 : most_depth);
  static constexpr bool one_block = depth >= K;  // then sums never leave their tile
  static constexpr bool sums_wait = !Out::in_place && !one_block;
  static constexpr long rows_limit = a_in_place ? M * Most : down(rows_bytes / (depth * long{sizeof(E)}), tile.rows);
  static constexpr long sums_limit = sums_wait ? down(sums_bytes / (width * long{sizeof(E)}), tile.rows) : M * Most;
  static constexpr long limit = rows_limit < sums_limit ? rows_limit : sums_limit;
  static constexpr long block_rows = M <= limit          ? smaller(down(limit, M), M* Most)
                                     : limit < tile.rows ? tile.rows
                                                         : limit;
  static constexpr long at_once = block_rows < M ? M : block_rows;  // rows that are multiplied before the next
  static constexpr long block_columns =
      some_columns ? 8 * width
      : sums_wait  ? smaller(down(sums_bytes / (up(block_rows, tile.rows) * long{sizeof(E)}), width), up(N, width))
                   : N;

  A a;
  B b;
  Out out;
  E *rows, *panel, *sums;
  bool b_lies;

  // A single row times a matrix that is contiguous along k: nothing is used twice, so nothing is packed.
  static constexpr bool lone_row = [] {
    if constexpr (readable<E, A>() && readable<E, B>() && Out::in_place && !requires { Out::one_chain; }) {
      return S::whole_transpose && M == 1 && A::step == 1 && B::step == 1 && N % lanes == 0 && K % lanes == 0;
    }
    return false;
  }();

  static void run(std::byte* workspace, A a, B b, Out out, long times) {
    static_assert(Most == 1 || M > 1, "a lone row's sums may have an order of their own");
    if constexpr (lone_row) return along(a, b, out);
    Gemm const g{a,
                 b,
                 out,
                 reinterpret_cast<E*>(workspace),
                 reinterpret_cast<E*>(workspace + rows_bytes),
                 reinterpret_cast<E*>(workspace + rows_bytes + (one_block ? long_panel_bytes : 2 * panel_bytes)),
                 b_may_lie && tiles * times <= 2};
    for (long first = 0; first < M * times; first += at_once) {
      long const end = smaller(first + at_once, M * times);
      for (long j = 0; j < N; j += block_columns) {
        for (long i = first; i < end; i += block_rows) {
          g.block(i, smaller(block_rows, end - i), j, smaller(block_columns, N - j));
        }
      }
    }
  }

 private:
  static void along(A a, B b, Out out) {
    for (long j = 0; j < N; j += lanes) {
      S::template row_times_rows<E>(out.at(0, j), a.at(0, 0), b.at(j, 0), B::line, K, Add);
    }
    if constexpr (Out::ends) out.template done<S>(out.at(0, 0), Out::stride, 0, 0, 1, static_cast<int>(N));
  }
  void block(long i0, long m, long j0, long n) const {
    for (long k = 0; k < K; k += depth) {
      long const steps = smaller(depth, K - k);
      if constexpr (!a_in_place) pack_rows(i0, m, k, steps);
      long j = j0;
      for (; j + width <= j0 + n; j += width) columns<tile.vectors, width>(i0, m, j0, j, k, steps);
      if constexpr (side > 0) {
        if (j < j0 + n) columns<side_vectors, side>(i0, m, j0, j, k, steps);
      }
    }
  }

  void pack_rows(long i0, long m, long k, long steps) const {
    for (long i = 0; i < m;) {
      long const end = smaller(i + M, m);
      for (; i + tile.rows <= end; i += tile.rows) {
        a.template pack<S, E, tile.rows>(rows + i * steps, i0 + i, tile.rows, k, steps);
      }
      if constexpr (rest > 0) {
        if (i < end) a.template pack<S, E, rest>(rows + i * steps, i0 + i, rest, k, steps);
      }
      i = end;
    }
  }

  /// Where B lies, vectors that end behind the last column read a copy of the last row, which no row follows.
  template <int V, int Columns> void columns(long i0, long m, long j0, long j, long k, long steps) const {
    E const* right = panel;
    long step_b = V * lanes;
    if constexpr (b_may_lie) {
      if (b_in_place || b_lies) {
        right = b.at(j, k), step_b = B::step;
        if (Columns < V * lanes && k + steps == K) b.template pack<S, E, V * lanes>(panel, j, Columns, K - 1, 1);
      }
    }
    if constexpr (!b_in_place) {
      if (right == panel) b.template pack<S, E, V * lanes>(panel, j, Columns, k, steps);
    }
    for (long i = 0; i < m;) {
      long const end = smaller(i + M, m);
      for (; i + tile.rows <= end; i += tile.rows) {
        one<tile.rows, V, Columns>(i0 + i, i, j, j - j0, k, steps, right, step_b);
      }
      if constexpr (rest > 0) {
        if (i < end) one<rest, V, Columns>(i0 + i, i, j, j - j0, k, steps, right, step_b);
      }
      i = end;
    }
  }

  /// One register tile at C (i, j); `row` and `column` are its place in the block.
  template <int R, int V, int Columns>
  void one(long i, long row, long j, long column, long k, long steps, E const* right, long step_b) const {
    bool const add = Add || k > 0, last = k + steps == K;
    auto const multiply = [&](E* c, long stride) {
      auto const some = [&](long from, long many, E const* b_at, bool more) {
        if constexpr (a_in_place) {
          S::template tile<E, R, V, A::line>(many, a.at(i, k + from), A::step, b_at, step_b, c, stride, more);
        } else {
          S::template tile<E, R, V, 1>(many, rows + row * steps + from * R, R, b_at, step_b, c, stride, more);
        }
      };
      if (b_may_lie && Columns < V * lanes && last && right != panel) {
        some(0, steps - 1, right, add);
        some(steps - 1, 1, panel, true);
      } else {
        some(0, steps, right, add);
      }
    };
    if constexpr (!Out::in_place) {
      constexpr long stride = one_block ? V * lanes : block_columns;
      E* const c = one_block ? sums : sums + row * stride + column;
      multiply(c, stride);
      if (last) out.template done<S>(c, stride, i, j, R, Columns);
    } else {
      E* const c = out.at(i, j);
      if constexpr (Columns == V * lanes) {
        multiply(c, Out::stride);
      } else {  // the last columns do not fill a vector
        E edge[R * V * lanes];
        for (int r = 0; add && r < R; ++r) {
          for (int x = 0; x < V * lanes; ++x) edge[r * V * lanes + x] = x < Columns ? c[r * Out::stride + x] : E{0};
        }
        multiply(edge, V * lanes);
        for (int r = 0; r < R; ++r) {
          for (int x = 0; x < Columns; ++x) c[r * Out::stride + x] = edge[r * V * lanes + x];
        }
      }
      if constexpr (Out::ends) {
        if (last) out.template done<S>(c, Out::stride, i, j, R, Columns);
      }
    }
  }
};

/// C (M, N) = A B, or C += A B. E is the type of the sums. `times`, at most `Most`: of so many times M rows.
template <class E, long M, long N, long K, bool Add = false, long Most = 1, class A, class B, class Out>
void gemm(std::byte* workspace, A a, B b, Out out, long times = 1) {
  with_simd([&]<class S>(S) { Gemm<S, E, M, N, K, Add, Most, A, B, Out>::run(workspace, a, b, out, times); });
}

}  // namespace cleave::backend::host
