// backend/host/kernels/gemm_sum.hpp - a sum of products A B over slices, in the tree's order: taken in each tile, in the cache.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <bit>
#include <cstring>
#include <type_traits>

#include "branches.hpp"
#include "gemm.hpp"

namespace cleave::backend::host {

/// dW (M, N) over slices of K steps of k each, which lie side by side in A and B. Of some slices the whole depth is
/// packed; a tile goes from slice to slice and merges its sums. Branches that were there, and those that stay, are in
/// memory. T is what gradients are rounded to where the branches say so. Of `Whole` > 0 slices all are packed at once,
/// and M is the rows of one of several products that lie one after the other in A and in the branches.
template <class S, class E, long M, long N, long K, class T, int Whole, class A, class B> struct GemmSum {
  static constexpr int lanes = S::template lanes<E>;
  static constexpr long vectors = (N + lanes - 1) / lanes;
  static constexpr long space = Whole > 0 ? long_panel_bytes : 2 * panel_bytes;  // of the panel
  static constexpr long least = Whole > 0 ? Whole : 1;                           // slices that must fit
  static constexpr long most_vectors = space / (least * K * lanes * long{sizeof(E)});
  static constexpr Tile tile = best_tile(M, smaller(vectors, most_vectors), S::most_registers);
  static constexpr int width = tile.vectors * lanes, rest = static_cast<int>(M % tile.rows);
  static constexpr int side = static_cast<int>(N % width), side_vectors = (side + lanes - 1) / lanes;
  static constexpr bool a_in_place = readable<E, A>() && (N + width - 1) / width <= 2;
  static constexpr long fitting = panel_bytes / (width * K * long{sizeof(E)});
  static constexpr long together = Whole > 0 ? Whole : fitting < 1 ? 1 : fitting < 64 ? fitting : 64;  // slices
  static_assert(together * K * width * long{sizeof(E)} <= space);
  static_assert(16L * tile.rows * width * long{sizeof(E)} <= sums_bytes);

  A a;
  B b;
  Stack<E> const& to;
  E *rows, *panel, *sums;
  bool rounded;
  long times = 1;
  // Of the slices that are packed: the first and how many; where in the branches the first goes, and the merges.
  long slice = 0, slices = 0;
  int top = 0, last = 0;  // where the branch that is on top in the end goes
  std::uint64_t merges = 0;

  static void run(std::byte* workspace, A a, B b, Branches<E> const& to, long slices, long times = 1) {
    GemmSum g{a,
              b,
              to.dw0,
              reinterpret_cast<E*>(workspace),
              reinterpret_cast<E*>(workspace + rows_bytes),
              reinterpret_cast<E*>(workspace + rows_bytes + space),
              sizeof(T) < sizeof(E) && to.rounded,
              times};
    g.top = to.depth;
    g.merges = to.merges;
    for (; g.slice < slices; g.slice += g.slices) {
      g.slices = smaller(together, slices - g.slice);
      int next = g.top;
      std::uint64_t left = g.merges;
      for (long s = 0; s < g.slices; ++s, left >>= 1, ++next) {
        for (; left & 1; left >>= 1) --next;
      }
      g.last = next - 1;
      g.all();
      g.top = next;
      g.merges = left;
    }
  }

 private:
  void all() const {
    long const steps = slices * K, most = down(rows_bytes / (steps * long{sizeof(E)}), tile.rows);
    long const limit = a_in_place ? M * times : most >= M ? down(most, M) : most, chunk = limit < M ? M : M * times;
    for (long first = 0; first < M * times; first += chunk) {
      for (long i = first; i < first + chunk; i += limit) {
        long const m = smaller(limit, first + chunk - i);
        if constexpr (!a_in_place) pack_rows(i, m, steps);
        long j = 0;
        for (; j + width <= N; j += width) columns<tile.vectors, width>(i, m, j, steps);
        if constexpr (side > 0) columns<side_vectors, side>(i, m, j, steps);
      }
    }
  }
  void pack_rows(long i0, long m, long steps) const {
    each_tile(m, [&]<int R>(std::integral_constant<int, R>, long i) {
      a.template pack<S, E, R>(rows + i * steps, i0 + i, R, slice * K, steps);
    });
  }
  template <int V, int Columns> void columns(long i0, long m, long j, long steps) const {
    b.template pack<S, E, V * lanes>(panel, j, Columns, slice * K, steps);
    each_tile(m,
              [&]<int R>(std::integral_constant<int, R>, long i) { one<R, V, Columns>(i0 + i, rows + i * steps, j); });
  }
  /// visit(rows of a tile, the first) for m rows, of products of M rows each.
  template <class Visit> static void each_tile(long m, Visit visit) {
    for (long i = 0; i < m;) {
      long const end = smaller(i + M, m);
      for (; i + tile.rows <= end; i += tile.rows) visit(std::integral_constant<int, tile.rows>{}, i);
      if constexpr (rest > 0) {
        if (i < end) visit(std::integral_constant<int, rest>{}, i);
      }
      i = end;
    }
  }

  /// The tile at (i, j). Branches [low, high) are here, one behind the other, the others in memory. Merges with those
  /// that are here happen in registers, but where a sum is rounded before each; and a sum that nothing follows goes
  /// from there to memory.
  template <int R, int V, int Columns> void one(long i, E const* packed, long j) const {
    constexpr long row = V * lanes, size = R * row;
    for (int r = 0; r < R; ++r) {
      for (int l = 0; l < Columns; l += 64 / static_cast<int>(sizeof(E)))
        __builtin_prefetch(to.at(last) + (i + r) * N + j + l);
    }
    int low = top, high = top;
    std::uint64_t left = merges;
    for (long s = 0; s < slices; ++s, left >>= 1) {
      E const* const on_top = sums + (high - 1 - low) * size;
      int const merging = rounded ? 0 : std::min(std::countr_one(left), high - low);
      high -= merging;
      left >>= merging;
      bool const ends = Columns == row && !rounded && s + 1 == slices && high == low && (left & 1) == 0;
      E* c = ends ? to.at(low) + i * N + j : sums + (high - low) * size;
      long const row_c = ends ? N : row;
      E const* const right = panel + s * K * row;
      if constexpr (a_in_place) {
        E const* const a_slice = a.at(i, (slice + s) * K);
        S::template tile_merged<E, R, V, A::line>(K, a_slice, A::step, right, c, row_c, on_top, merging);
      } else {
        S::template tile_merged<E, R, V, 1>(K, packed + s * K * R, R, right, c, row_c, on_top, merging);
      }
      if (ends) return;
      ++high;
      round<R * row>(c);
      for (; left & 1; left >>= 1) {
        --high;
        if (high > low) {
          c -= size;
          S::add(c, 0, c, 0, c + size, 0, 1, static_cast<int>(R * row));
        } else {
          S::add(c, row, to.at(--low) + i * N + j, N, c, row, R, Columns);
        }
        round<R * row>(c);
      }
    }
    for (int p = low; p < high; ++p) {
      E const* const c = sums + (p - low) * size;
      for (int r = 0; r < R; ++r) std::memcpy(to.at(p) + (i + r) * N + j, c + r * row, Columns * sizeof(E));
    }
  }
  template <long Count> void round(E* c) const {
    if constexpr (sizeof(T) < sizeof(E)) {
      for (long e = 0; rounded && e < Count; ++e) c[e] = static_cast<E>(static_cast<T>(c[e]));
    }
  }
};

/// Are there slices so small that a tile can take several?
template <class E, long K> inline constexpr bool sums_in_tiles = K* long{sizeof(E)} * 64 <= panel_bytes;

/// Branches of C (M, N), the sum of A B over slices of K.
template <class E, long M, long N, long K, class T, class A, class B>
void gemm_sum(std::byte* workspace, A a, B b, Branches<E> const& to, long slices) {
  with_simd([&]<class S>(S) { GemmSum<S, E, M, N, K, T, 0, A, B>::run(workspace, a, b, to, slices); });
}

}  // namespace cleave::backend::host
