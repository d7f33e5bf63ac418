// backend/host/kernels/gemm_blocks.hpp - C = A B whose k is summed in equal blocks, and these in a tree: the same bits on any ranks.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "block_tree.hpp"
#include "gemm_sum.hpp"

namespace cleave::backend::host {

/// A matrix from line `first` and step `k0` on.
template <class Of> struct From {
  using value = typename Of::value;
  static constexpr bool in_place = Of::in_place, along_k = Of::along_k;
  Of of;
  long first = 0, k0 = 0;

  template <class S, class E, int Width> void pack(E* to, long from, int count, long k, long depth) const {
    of.template pack<S, E, Width>(to, first + from, count, k0 + k, depth);
  }
  value const* at(long i, long k) const { return of.at(first + i, k0 + k); }
  long line() const { return of.line(); }
  long step() const { return of.step(); }
};

/// One sum of a block, in space of its own: a chain over k.
template <class E> struct BlockSum : Store<E> { static constexpr bool one_chain = true; };

/// Rows of `Stride` in blocks that do not lie side by side: one is `Length` steps of each of several runs, which are
/// `Length * Blocks` apart.
template <class T, long Stride, long Length, int Runs, int Blocks> struct RowsInRuns {
  using value = void;  // no kernel reads it in place
  static constexpr bool in_place = false, along_k = true;
  static constexpr long apart = Length * Blocks;
  T const* p;
  [[no_unique_address]] tensor::Factor<T> f = {};

  template <class S, class E, int Width> void pack(E* to, long first, int count, long k, long depth) const {
    while (depth > 0) {
      long const block = k / (Length * Runs), run = k / Length % Runs, at = k % Length;
      long const some = smaller(Length - at, depth);
      S::pack_rows(to, Width, p + first * Stride + run * apart + block * Length + at, Stride, count, some, f);
      to += some * Width, k += some, depth -= some;
    }
  }
};
template <long Stride, int Runs, int Blocks, class T> auto rows_in_runs(T const* p, tensor::Factor<T> f) {
  static_assert(Stride % (Runs * Blocks) == 0);
  return RowsInRuns<T, Stride, Stride / Runs / Blocks, Runs, Blocks>{p, f};
}

/// C (M, N), of up to `Most` times M rows: each element is the tree's sum of chains over K / Blocks steps of k. It has
/// the same bits, whatever M and N, and where a rank has some of the blocks, the tree goes on over the ranks.
template <class S, class E, long M, long N, long K, int Blocks, long Most, class A, class B, class Out>
struct GemmInBlocks {
  static_assert(K % Blocks == 0);
  static constexpr long depth = K / Blocks;
  static constexpr BlockTree<Blocks> tree{};
  static constexpr int lanes = S::template lanes<E>;

  // A tile goes through all blocks where some vectors of all k fit into a panel, and enough rows use it.
  static constexpr long panel_vectors = long_panel_bytes / (K * lanes * long{sizeof(E)});
  static constexpr bool in_tiles = M * Most >= 16 && (panel_vectors >= 3 || panel_vectors * lanes >= N) &&
                                   Blocks <= 32 && panel_vectors >= 1 && 8 * K * long{sizeof(E)} <= rows_bytes;

  // Else a part of C that has room for the sums of the tree.
  static constexpr long room = down(sums_bytes / 2 / (tree.depth * long{sizeof(E)}), lanes);
  static constexpr long most_columns = down(room / smaller(M, 128), lanes);
  static constexpr long columns = smaller(N, most_columns < lanes ? lanes : most_columns);
  static constexpr long rows = smaller(M, room / columns);

  /// A lone row times rows that lie along k has an order of its own, as elsewhere; here it does not depend on N.
  static constexpr bool lone_row = [] {
    if constexpr (readable<E, A>() && readable<E, B>()) {
      return S::whole_transpose && M == 1 && Most == 1 && lies_along_k<A>() && lies_along_k<B>() && depth % lanes == 0;
    }
    return false;
  }();

  static void run(std::byte* workspace, A a, B b, Out const& out, long times) {
    if constexpr (in_tiles) {
      Branches<E> to;
      to.dw0 = {out.at(0, 0)};
      for (int q = 0; q < Blocks; ++q) to.push(tree.merges[q]);
      using On = GemmSumOn<S, E, M, N, depth, E, Blocks, A, B>;
      GemmSum<E>::run(On::sum, operands_of<E>(a, b, Nowhere{}), workspace, to, Blocks, times);
      if constexpr (Out::ends) out.template done<S>(out.at(0, 0), N, 0, 0, static_cast<int>(M * times), int{N});
    } else {
      for (long first = 0; first < M * times; first += M) all_columns(workspace, a, b, out, first);
    }
  }

 private:
  static void all_columns(std::byte* workspace, A a, B b, Out const& out, long first) {
    long j = 0;
    for (; j + columns <= N; j += columns) all_rows<columns>(workspace, a, b, out, first, j);
    if constexpr (N % columns > 0) all_rows<N % columns>(workspace, a, b, out, first, j);
  }
  template <long C> static void all_rows(std::byte* workspace, A a, B b, Out const& out, long first, long j) {
    long i = 0;
    for (; i + rows <= M; i += rows) part<rows, C>(workspace, a, b, out, first + i, j);
    if constexpr (M % rows > 0) part<M % rows, C>(workspace, a, b, out, first + i, j);
  }
  template <long R, long C> static void part(std::byte* workspace, A a, B b, Out const& out, long i, long j) {
    E* const sums = reinterpret_cast<E*>(workspace + rows_bytes + long_panel_bytes);
    int held = 0;
    for (int q = 0; q < Blocks; ++q) {
      if constexpr (lone_row) {
        along<C>(a.at(i, q * depth), b, j, q * depth, sums + held++ * C);
      } else {
        From<A> const left{a, i, q * depth};
        From<B> const right{b, j, q * depth};
        BlockSum<E> const to{{sums + held++ * R * C, C}};
        using On = GemmOn<S, E, R, C, depth, false, 1, From<A>, From<B>, BlockSum<E>>;
        Gemm<E>::run(On::product, operands_of<E>(left, right, to), workspace, 1);
      }
      for (int m = 0; m < tree.merges[q]; ++m) {
        --held;
        E *const to = sums + (held - 1) * R * C, *const from = sums + held * R * C;
        S::add(to, 0, to, 0, from, 0, 1, static_cast<int>(R * C));
      }
    }
    out.template done<S>(sums, C, i, j, static_cast<int>(R), static_cast<int>(C));
  }
  template <long C> static void along(E const* row, B b, long j, long k, E* to) {
    long n = 0;
    for (; n + lanes <= C; n += lanes)
      S::template row_times_rows<E>(to + n, row, b.at(j + n, k), b.line(), depth, false);
    if constexpr (C % lanes > 0) {
      E alike[lanes];  // of a row that is read as if it were as many
      for (; n < C; ++n) {
        S::template row_times_rows<E>(alike, row, b.at(j + n, k), 0, depth, false);
        to[n] = alike[0];
      }
    }
  }
};

/// C (M, N) = A B in blocks of k; 0: in one chain, by gemm(). E is the type of the sums, and of C where there are
/// blocks.
template <class E, long M, long N, long K, int Blocks, long Most = 1, class A, class B, class Out>
void gemm_in_blocks(std::byte* workspace, A a, B b, Out out, long times = 1) {
  if constexpr (Blocks == 0) {
    gemm<E, M, N, K, false, Most>(workspace, a, b, out, times);
  } else {
    with_simd(
        [&]<class S>(S) { GemmInBlocks<S, E, M, N, K, Blocks, Most, A, B, Out>::run(workspace, a, b, out, times); });
  }
}

}  // namespace cleave::backend::host
