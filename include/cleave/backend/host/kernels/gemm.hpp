// backend/host/kernels/gemm.hpp - C = A B of constant sizes: panels through the workspace, tiles in registers, an epilogue.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cstddef>
#include <type_traits>

#include "pack.hpp"
#include "tiling.hpp"

namespace cleave::backend::host {

/// Where sums are stored. `in_place`: C itself, of the accumulator's type, holds them between blocks of k; its rows are
/// `stride` apart. Otherwise `done` receives each finished tile. An output may have both: then `done` receives the tile
/// in C. One with a member `one_chain` takes no sums in another order than that of k.
template <class E> struct Store {
  static constexpr bool in_place = true, ends = false;
  E* c;
  long stride;
  E* at(long i, long j) const { return c + i * stride + j; }
};

/// The output of what stores its sums by itself.
struct Nowhere {
  static constexpr bool in_place = false, ends = false;
};

/// What a product calls on one instruction set. The second of two is for the last rows or columns, where they do not
/// fill a tile. Null is what it never calls.
template <class E> struct GemmCalls {
  using Tile = void (*)(long depth, E const* a, long row_a, long step_a, E const* b, long step_b, E* c, long row_c,
                        bool add);
  using Pack = void (*)(void const* from, E* to, long first, int count, long k, long depth);
  using Done = void (*)(void const* out, E const* sum, long row, long i, long j, int rows, int columns);
  using Copy = void (*)(E* to, long row_to, E const* from, long row_from, int rows, int columns);
  using Row = void (*)(E* c, E const* x, E const* w, long row_w, long depth, bool add);
  Tile tile[2][2] = {};  // by rows, columns
  Pack pack_a[2] = {}, pack_b[2] = {};
  Copy copy = nullptr;
  Done done = nullptr;
  Row lone_row = nullptr;  // where A is a single row, and B lies along k: nothing is used twice, so nothing is packed
};
/// A product on one instruction set: all of it that depends on its sizes and types.
template <class E> struct GemmOf {
  GemmBlocking cut;
  GemmCalls<E> call;
  bool adds = false;  // to what C holds
};

/// A, B and C: as `GemmCalls` wants them, and where they lie, if they are read and written in place.
template <class E> struct GemmOperands {
  void const *a, *b, *out;
  E const* a_at = nullptr;
  long row_a = 0, step_a = 0;
  E const* b_at = nullptr;
  long line_b = 0, step_b = 0;
  E* c = nullptr;
  long row_c = 0;
};

/// One product of m rows, or of up to as many times m rows as its blocking was made for: one after the other in A and
/// in C, each in tiles of its own. Every element of C is one chain of multiply-adds in the order of k, whatever the
/// tiles and blocks: its bits depend on k and the instruction set, not on m, n or the other rows. (A lone row times
/// rows that lie along k has an order of its own, by lanes.) One copy of this serves products of all sizes; what
/// depends on them is constant, in GemmOf.
template <class E> struct Gemm {
  GemmBlocking const& cut;
  GemmCalls<E> const& call;
  GemmOperands<E> const& of;
  bool adds, b_lies;
  long all;  // rows
  E *rows, *panel, *sums;

  [[gnu::noinline]] static void run(GemmOf<E> const& product, GemmOperands<E> const& of, std::byte* workspace,
                                    long times) {
    GemmBlocking const& cut = product.cut;
    if (product.call.lone_row) return run_lone_row(product, of);
    Gemm const g{cut,
                 product.call,
                 of,
                 product.adds,
                 cut.b_in_place || (cut.b_may_lie && cut.tiles * times <= 2),
                 cut.m * times,
                 reinterpret_cast<E*>(workspace),
                 reinterpret_cast<E*>(workspace + rows_bytes),
                 reinterpret_cast<E*>(workspace + rows_bytes + (cut.one_block ? long_panel_bytes : 2 * panel_bytes))};
    for (long first = 0; first < g.all; first += cut.at_once) {
      long const end = smaller(first + cut.at_once, g.all);
      for (long j = 0; j < cut.n; j += cut.block_columns) {
        for (long i = first; i < end; i += cut.block_rows)
          g.block(i, smaller(cut.block_rows, end - i), j, smaller(cut.block_columns, cut.n - j));
      }
    }
  }

 private:
  static void run_lone_row(GemmOf<E> const& product, GemmOperands<E> const& of) {
    GemmBlocking const& cut = product.cut;
    for (long j = 0; j < cut.n; j += cut.lanes)
      product.call.lone_row(of.c + j, of.a_at, of.b_at + j * of.line_b, of.line_b, cut.k, product.adds);
    if (product.call.done) product.call.done(of.out, of.c, of.row_c, 0, 0, 1, static_cast<int>(cut.n));
  }
  void block(long i0, long m, long j0, long n) const {
    for (long k = 0; k < cut.k; k += cut.depth) {
      long const steps = smaller(cut.depth, cut.k - k);
      if (!cut.a_in_place) {
        each_tile(m, cut.m, cut.tile.rows, cut.rest, [&](bool last, long i, int count) {
          call.pack_a[last](of.a, rows + i * steps, i0 + i, count, k, steps);
        });
      }
      long j = j0;
      for (; j + cut.width <= j0 + n; j += cut.width) columns(false, i0, m, j0, j, k, steps);
      if (j < j0 + n) columns(true, i0, m, j0, j, k, steps);
    }
  }
  /// Some columns of C over a block of k: from column j of C and `column` of the block on, `many`, in vectors of
  /// `packed`.
  struct Panel {
    long j, column, k, steps;
    int many;
    long packed;
    E const* b;
    long step_b;
    bool last;        // fewer columns than others
    bool adds;        // to what C holds
    bool ends;        // with it k ends
    bool copies_end;  // its last step is read from a copy
  };

  /// Where B lies, vectors that end behind the last column read a copy of the last row, which no row follows.
  void columns(bool last, long i0, long m, long j0, long j, long k, long steps) const {
    int const many = last ? cut.side : cut.width, packed = last ? cut.side_vectors * cut.lanes : cut.width;
    Panel p{j, j - j0, k, steps, many, packed, panel, packed, last, adds || k > 0, k + steps == cut.k, false};
    if (b_lies) {
      p.b = of.b_at + j + k * of.step_b, p.step_b = of.step_b;
      p.copies_end = many < packed && p.ends;
      if (p.copies_end) call.pack_b[last](of.b, panel, j, many, cut.k - 1, 1);
    } else {
      call.pack_b[last](of.b, panel, j, many, k, steps);
    }
    each_tile(m, cut.m, cut.tile.rows, cut.rest,
              [&](bool last_rows, long i, int count) { one(p, last_rows, count, i0 + i, i); });
  }

  /// A tile of `count` rows from i of C and `row` of the block on.
  [[gnu::always_inline]] void one(Panel const& p, bool last_rows, int count, long i, long row) const {
    if (!of.c) {
      long const stride = cut.one_block ? p.packed : cut.block_columns;
      E* const c = cut.one_block ? sums : sums + row * stride + p.column;
      multiply(p, last_rows, count, i, row, c, stride);
      if (p.ends) call.done(of.out, c, stride, i, p.j, count, p.many);
      return;
    }
    E* const c = of.c + i * of.row_c + p.j;
    // What a vector stores behind C's last column is the next rows', which are not there yet.
    bool const overwritten =
        p.packed == cut.lanes && p.many == of.row_c && !p.adds && p.packed - p.many <= (all - i - count) * p.many;
    if (p.many == p.packed || overwritten) {
      multiply(p, last_rows, count, i, row, c, of.row_c);
    } else {
      through_edge(p, last_rows, count, i, row, c);
    }
    if (p.ends && call.done) call.done(of.out, c, of.row_c, i, p.j, count, p.many);
  }
  /// Where the last columns do not fill a vector.
  [[gnu::noinline]] void through_edge(Panel const& p, bool last_rows, int count, long i, long row, E* c) const {
    alignas(64) E edge[most_of_tile];
    if (p.adds) {
      std::fill_n(edge, count * p.packed, E{0});
      call.copy(edge, p.packed, c, of.row_c, count, p.many);
    }
    multiply(p, last_rows, count, i, row, edge, p.packed);
    call.copy(c, of.row_c, edge, p.packed, count, p.many);
  }
  [[gnu::always_inline]] void multiply(Panel const& p, bool last_rows, int count, long i, long row, E* c,
                                       long row_c) const {
    auto const tile = call.tile[last_rows][p.last];
    bool const lies = cut.a_in_place;
    E const* const a = lies ? of.a_at + i * of.row_a + p.k * of.step_a : rows + row * p.steps;
    long const row_a = lies ? of.row_a : 1, step_a = lies ? of.step_a : count,
               but = p.copies_end ? p.steps - 1 : p.steps;
    tile(but, a, row_a, step_a, p.b, p.step_b, c, row_c, p.adds);
    if (p.copies_end) tile(1, a + but * step_a, row_a, step_a, panel, p.step_b, c, row_c, true);
  }
  static constexpr int most_of_tile = 32 * 64 / int{sizeof(E)};  // 32 vectors of 64 bytes
};

/// The functions that kernels of an instruction set S are for these types, by pointers. Null for 0 rows or columns.
template <class S, class E, class A, class B> struct GemmFunctions {
  /// Rows of A are neighbours where it is packed, and where it does not lie along k.
  template <int R, int V, bool Packed> static constexpr typename GemmCalls<E>::Tile tile() {
    constexpr bool neighbours = Packed || !lies_along_k<A>();
    if constexpr (R > 0 && V > 0) return &S::template tile<E, R, V, neighbours>;
    return nullptr;
  }
  template <class From, int Width>
  static void pack(void const* from, E* to, long first, int count, long k, long depth) {
    static_cast<From const*>(from)->template pack<S, E, Width>(to, first, count, k, depth);
  }
  template <int R> static constexpr typename GemmCalls<E>::Pack pack_a() {
    if constexpr (R > 0) return &pack<A, R>;
    return nullptr;
  }
  template <int V> static constexpr typename GemmCalls<E>::Pack pack_b() {
    if constexpr (V > 0) return &pack<B, V * S::template lanes<E>>;
    return nullptr;
  }
  template <class Out>
  static void done(void const* out, E const* sum, long row, long i, long j, int rows, int columns) {
    static_cast<Out const*>(out)->template done<S>(sum, row, i, j, rows, columns);
  }
};

/// C (M, N) = A B, or C += A B, on one instruction set.
template <class S, class E, long M, long N, long K, bool Add, long Most, class A, class B, class Out> struct GemmOn {
  static constexpr int lanes = S::template lanes<E>;
  static constexpr GemmBlocking cut =
      gemm_blocking(M, N, K, Most, {readable<E, A>(), readable_across<E, B>(), lies_along_k<B>(), Out::in_place}, lanes,
                    S::most_registers, sizeof(E));
  static constexpr bool lone_row = [] {
    if constexpr (readable<E, A>() && readable<E, B>() && Out::in_place && !requires { Out::one_chain; })
      return S::whole_transpose && M == 1 && lies_along_k<A>() && lies_along_k<B>() && N % lanes == 0 && K % lanes == 0;
    return false;
  }();
  static constexpr GemmOf<E> make() {
    using F = GemmFunctions<S, E, A, B>;
    constexpr int R = cut.tile.rows, V = cut.tile.vectors;
    GemmOf<E> of{cut, {}, Add};
    GemmCalls<E>& to = of.call;
    to.copy = &S::template copy<E>;
    if constexpr (Out::ends) to.done = &F::template done<Out>;
    if constexpr (lone_row) {
      to.lone_row = &S::template row_times_rows<E>;
      return of;
    } else {
      constexpr bool packs = !cut.a_in_place;
      to.tile[0][0] = F::template tile<R, V, packs>();
      to.tile[1][0] = F::template tile<cut.rest, V, packs>();
      to.tile[0][1] = F::template tile<R, cut.side_vectors, packs>();
      to.tile[1][1] = F::template tile<cut.rest, cut.side_vectors, packs>();
      if constexpr (packs) {
        to.pack_a[0] = F::template pack_a<R>();
        to.pack_a[1] = F::template pack_a<cut.rest>();
      }
      if constexpr (!cut.b_in_place) to.pack_b[0] = F::template pack_b<V>();
      to.pack_b[1] = F::template pack_b<cut.side_vectors>();
      return of;
    }
  }
  static constexpr GemmOf<E> product = make();
};

template <class E, class A, class B, class Out> GemmOperands<E> operands_of(A const& a, B const& b, Out const& out) {
  GemmOperands<E> to{&a, &b, &out};
  if constexpr (readable<E, A>()) to.a_at = a.at(0, 0), to.row_a = a.line(), to.step_a = a.step();
  if constexpr (readable<E, B>()) to.b_at = b.at(0, 0), to.line_b = b.line(), to.step_b = b.step();
  if constexpr (Out::in_place) to.c = out.at(0, 0), to.row_c = out.stride;
  return to;
}

/// C (M, N) = A B, or C += A B. E is the type of the sums. `times`, at most `Most`: of so many times M rows.
template <class E, long M, long N, long K, bool Add = false, long Most = 1, class A, class B, class Out>
void gemm(std::byte* workspace, A a, B b, Out out, long times = 1) {
  static_assert(Most == 1 || M > 1, "a lone row's sums may have an order of their own");
  GemmOf<E> const* product = nullptr;
  with_simd([&]<class S>(S) { product = &GemmOn<S, E, M, N, K, Add, Most, A, B, Out>::product; });
  Gemm<E>::run(*product, operands_of<E>(a, b, out), workspace, times);
}

}  // namespace cleave::backend::host
