// backend/host/kernels/gemm_sum.hpp - a sum of products A B over slices, in the tree's order: taken in each tile, in the cache.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <bit>
#include <type_traits>

#include "branches.hpp"
#include "gemm.hpp"

namespace cleave::backend::host {

/// What such a sum calls on one instruction set, as of GemmCalls.
template <class E> struct SumCalls {
  using Tile = void (*)(long depth, E const* a, long row_a, long step_a, E const* b, E* c, long row_c, E const* branch,
                        int merges);
  using Add = void (*)(E* c, long row_c, E const* a, long row_a, E const* b, long row_b, int rows, int columns);
  Tile tile[2][2] = {};
  typename GemmCalls<E>::Pack pack_a[2] = {}, pack_b[2] = {};
  Add add = nullptr;
  typename GemmCalls<E>::Copy copy = nullptr;
  void (*round)(E* c, long n) = nullptr;  // to the format of gradients, if that is narrower
};
/// A sum on one instruction set: all of it that depends on its sizes and types.
template <class E> struct GemmSumOf {
  GemmSumBlocking cut;
  SumCalls<E> call;
};

/// dW (m, n) over slices of k steps each, which lie side by side in A and B. Of some slices the whole depth is packed;
/// a tile goes from slice to slice and merges its sums. Branches that were there, and those that stay, are in memory.
/// It may be one of several products, of m rows each, that lie one after the other in A and in the branches. One copy
/// of this serves all sizes.
template <class E> struct GemmSum {
  GemmSumBlocking const& cut;
  SumCalls<E> const& call;
  GemmOperands<E> const& of;
  Stack<E> const& to;
  E *rows, *panel, *sums;
  bool rounded;
  long times;
  // Of the slices that are packed: the first and how many; where in the branches the first goes, and the merges.
  long slice = 0, slices = 0;
  int top = 0, last = 0;  // where the branch that is on top in the end goes
  std::uint64_t merges = 0;

  [[gnu::noinline]] static void run(GemmSumOf<E> const& sum, GemmOperands<E> const& of, std::byte* workspace,
                                    Branches<E> const& to, long slices, long times = 1) {
    GemmSumBlocking const& cut = sum.cut;
    GemmSum g{cut,
              sum.call,
              of,
              to.dw0,
              reinterpret_cast<E*>(workspace),
              reinterpret_cast<E*>(workspace + rows_bytes),
              reinterpret_cast<E*>(workspace + rows_bytes + cut.space),
              sum.call.round && to.rounded,
              times};
    g.top = to.depth;
    g.merges = to.merges;
    for (; g.slice < slices; g.slice += g.slices) {
      g.slices = smaller(cut.together, slices - g.slice);
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
    long const steps = slices * cut.k, most = down(rows_bytes / (steps * long{sizeof(E)}), cut.tile.rows);
    long const m = cut.m,
               limit = cut.a_in_place ? m * times
                       : most >= m    ? down(most, m)
                                      : most,
               chunk = limit < m ? m : m * times;
    for (long first = 0; first < m * times; first += chunk) {
      for (long i = first; i < first + chunk; i += limit) {
        long const some = smaller(limit, first + chunk - i);
        if (!cut.a_in_place) {
          each_tile(some, cut.m, cut.tile.rows, cut.rest, [&](bool last_rows, long r, int count) {
            call.pack_a[last_rows](of.a, rows + r * steps, i + r, count, slice * cut.k, steps);
          });
        }
        long j = 0;
        for (; j + cut.width <= cut.n; j += cut.width) columns(false, i, some, j, steps);
        if (j < cut.n) columns(true, i, some, j, steps);
      }
    }
  }
  void columns(bool last_columns, long i0, long m, long j, long steps) const {
    call.pack_b[last_columns](of.b, panel, j, last_columns ? cut.side : cut.width, slice * cut.k, steps);
    each_tile(m, cut.m, cut.tile.rows, cut.rest, [&](bool last_rows, long i, int count) {
      one(last_rows, last_columns, count, i0 + i, rows + i * steps, j);
    });
  }

  /// The tile at (i, j). Branches [low, high) are here, one behind the other, the others in memory. Merges with those
  /// that are here happen in registers, but where a sum is rounded before each; and a sum that nothing follows goes
  /// from there to memory.
  void one(bool last_rows, bool last_columns, int count, long i, E const* packed, long j) const {
    auto const tile = call.tile[last_rows][last_columns];
    bool const rounds = rounded, lies = cut.a_in_place;
    int const many = last_columns ? cut.side : cut.width;
    long const k = cut.k, n = cut.n, count_of_slices = slices;
    long const row = last_columns ? cut.lanes * cut.side_vectors : cut.width, size = count * row;
    E const* left = lies ? of.a_at + i * of.row_a + slice * k * of.step_a : packed;
    E const* right = panel;
    long const row_a = lies ? of.row_a : 1, step_a = lies ? of.step_a : count;
    E* const place = to.at(last) + i * n + j;
    for (int r = 0; r < count; ++r) {
      for (int l = 0; l < many; l += 64 / static_cast<int>(sizeof(E))) __builtin_prefetch(place + r * n + l);
    }
    int low = top, high = top;
    std::uint64_t todo = merges;
    for (long s = 0; s < count_of_slices; ++s, todo >>= 1, left += k * step_a, right += k * row) {
      E const* const on_top = sums + (high - 1 - low) * size;
      int const merging = rounds ? 0 : std::min(std::countr_one(todo), high - low);
      high -= merging;
      todo >>= merging;
      bool const ends = many == row && !rounds && s + 1 == count_of_slices && high == low && (todo & 1) == 0;
      E* c = ends ? to.at(low) + i * n + j : sums + (high - low) * size;
      tile(k, left, row_a, step_a, right, c, ends ? n : row, on_top, merging);
      if (ends) return;
      ++high;
      if (rounds) call.round(c, size);
      for (; todo & 1; todo >>= 1) {
        --high;
        if (high > low) {
          c -= size;
          call.add(c, 0, c, 0, c + size, 0, 1, static_cast<int>(size));
        } else {
          call.add(c, row, to.at(--low) + i * n + j, n, c, row, count, many);
        }
        if (rounds) call.round(c, size);
      }
    }
    for (int p = low; p < high; ++p) call.copy(to.at(p) + i * n + j, n, sums + (p - low) * size, row, count, many);
  }
};

/// One on one instruction set. T is what gradients are rounded to where the branches say so. Of `Whole` > 0 slices all
/// are packed at once.
template <class S, class E, long M, long N, long K, class T, int Whole, class A, class B> struct GemmSumOn {
  static constexpr GemmSumBlocking cut =
      gemm_sum_blocking(M, N, K, Whole, readable<E, A>(), S::template lanes<E>, S::most_registers, sizeof(E));
  static_assert(cut.together * K * cut.width * long{sizeof(E)} <= cut.space);
  static_assert(16L * cut.tile.rows * cut.width * long{sizeof(E)} <= sums_bytes);

  static constexpr bool neighbours = !cut.a_in_place || !lies_along_k<A>();  // rows of A
  template <int R, int V> static constexpr typename SumCalls<E>::Tile tile() {
    if constexpr (R > 0 && V > 0) return &S::template tile_merged<E, R, V, neighbours>;
    return nullptr;
  }
  static void round(E* c, long n) {
    for (long e = 0; e < n; ++e) c[e] = static_cast<E>(static_cast<T>(c[e]));
  }
  static constexpr GemmSumOf<E> make() {
    using F = GemmFunctions<S, E, A, B>;
    constexpr int R = cut.tile.rows, V = cut.tile.vectors;
    GemmSumOf<E> of{cut, {}};
    SumCalls<E>& to = of.call;
    to.tile[0][0] = tile<R, V>();
    to.tile[1][0] = tile<cut.rest, V>();
    to.tile[0][1] = tile<R, cut.side_vectors>();
    to.tile[1][1] = tile<cut.rest, cut.side_vectors>();
    if constexpr (!cut.a_in_place) {
      to.pack_a[0] = F::template pack_a<R>();
      to.pack_a[1] = F::template pack_a<cut.rest>();
    }
    to.pack_b[0] = F::template pack_b<V>();
    to.pack_b[1] = F::template pack_b<cut.side_vectors>();
    to.add = &S::template add<E>;
    to.copy = &S::template copy<E>;
    if constexpr (sizeof(T) < sizeof(E)) to.round = &round;
    return of;
  }
  static constexpr GemmSumOf<E> sum = make();
};

/// Are there slices so small that a tile can take several?
template <class E, long K> inline constexpr bool sums_in_tiles = K* long{sizeof(E)} * 64 <= panel_bytes;

/// Branches of C (M, N), the sum of A B over slices of K.
template <class E, long M, long N, long K, class T, class A, class B>
void gemm_sum(std::byte* workspace, A a, B b, Branches<E> const& to, long slices) {
  GemmSumOf<E> const* sum = nullptr;
  with_simd([&]<class S>(S) { sum = &GemmSumOn<S, E, M, N, K, T, 0, A, B>::sum; });
  GemmSum<E>::run(*sum, operands_of<E>(a, b, Nowhere{}), workspace, to, slices);
}

}  // namespace cleave::backend::host
