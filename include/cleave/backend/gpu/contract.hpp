// backend/gpu/contract.hpp - C = A B, sizes known, in tiles of a block: matrix products and convolutions are its cases.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <type_traits>

#include "context.hpp"
#include "fragment.hpp"

namespace cleave::backend::gpu {

// A case says what is multiplied; `Args` is what its operands are given.
//   m, n, k, groups                     extents; element (i, j) of C is the sum over k of a(i, k) b(k, j)
//   a(args, group, i, k), b(.., k, j)   T: an element. With a_width > 1: a_at(..) points at a_width neighbours instead
//   a_along_k, b_along_n                which index is contiguous in memory
//   store(args, group, i, j, sum)       the end: bias, map, conversion, into place
// Sums are taken in A. With a Tile of fragment.hpp products go through tensor cores; without, one chain of
// multiply-adds in the order of k per element: its bits do not depend on m, n or the blocks.

template <class T, int W> struct alignas(sizeof(T) * W) Pack { T v[W]; };

/// W neighbours at once where they lie at a multiple of their size; weights of odd layers may not.
template <int W, class T> CLEAVE_HD Pack<T, W> load(T const* at) {
  if (W == 1 || reinterpret_cast<std::uintptr_t>(at) % (sizeof(T) * W) == 0)
    return *reinterpret_cast<Pack<T, W> const*>(at);
  Pack<T, W> p;
  for (int i = 0; i < W; ++i) p.v[i] = at[i];
  return p;
}

/// In the format of sums.
struct Plain {};

template <class Case, class Tile> struct Blocking {
  static constexpr bool plain = std::is_same_v<Tile, Plain>;
  static constexpr bool large = !plain && Case::m >= 256 && Case::n >= 256;
  static constexpr bool gathers =
      Case::a_width == 1 || Case::b_width == 1;  // element by element: more threads, fewer each
  static constexpr int threads = plain || large || gathers ? 256 : 128;
  static constexpr int rows = large ? 128 : 64, columns = large ? 128 : 64, depth = plain ? 16 : 32;
  static constexpr int rows_of_blocks = blocks_for(Case::m, rows), columns_of_blocks = blocks_for(Case::n, columns);
  static constexpr int tiles = rows_of_blocks * columns_of_blocks * Case::groups;
};

/// How many parts of k are summed apart, so that a device is filled though C is small: the parts fit the workspace.
template <class Case, class Tile, class A> constexpr int splits(long workspace_bytes) {
  using B = Blocking<Case, Tile>;
  int s = 1;
  while (B::tiles * s < 132 && Case::k / (2 * s) >= 4 * B::depth &&
         2 * s * long{Case::groups} * Case::m * Case::n * static_cast<long>(sizeof(A)) <= workspace_bytes) {
    s *= 2;
  }
  return s;
}

template <class Case, class A, class Tile, int Splits> struct Contract {
  struct Args {
    typename Case::Args of;
    A* parts;  // (Splits, groups, m, n) where k is split
  };
  using B = Blocking<Case, Tile>;
  using T = typename Case::T;
  static constexpr bool plain = B::plain, alone = false;
  static constexpr int threads = B::threads, BM = B::rows, BN = B::columns, BK = B::depth;
  static constexpr int blocks = B::tiles * Splits;
  static constexpr int part = (blocks_for(Case::k, BK) + Splits - 1) / Splits * BK;
  // What is shared: for plain sums (k, i) and (k, j), for tensor cores (i, k) and (j, k), lines moved against each
  // other so that lanes meet different banks.
  template <bool Is, class X, class Y> using pick = std::conditional_t<Is, X, Y>;
  struct Same {
    using element = A;
  };
  using S = typename pick<plain, Same, Tile>::element;
  static constexpr int line = plain ? 4 : static_cast<int>(16 / sizeof(S));  // elements between lines
  static constexpr int a_line = plain ? BM + line : BK + line, b_line = plain ? BN + line : BK + line;
  static constexpr int a_size = plain ? BK * a_line : BM * a_line, b_size = plain ? BK * b_line : BN * b_line;
  static constexpr int shared_bytes = 2 * (a_size + b_size) * static_cast<int>(sizeof(S));

  static constexpr int a_packs = (BM * BK / Case::a_width + threads - 1) / threads;
  static constexpr int b_packs = (BN * BK / Case::b_width + threads - 1) / threads;
  struct Held {
    Pack<T, Case::a_width> a[a_packs];
    Pack<T, Case::b_width> b[b_packs];
  };

  CLEAVE_HD static S stored(T v) {
    if constexpr (plain) {
      return static_cast<A>(v);
    } else {
      return Tile::stored(v);
    }
  }
  /// Where pack p of an operand's tile lies in it: `along` k or across.
  template <bool Along, int Extent, int W> CLEAVE_HD static void place(int p, int& across, int& k) {
    if constexpr (Along) {
      across = p / (BK / W);
      k = p % (BK / W) * W;
    } else {
      k = p / (Extent / W);
      across = p % (Extent / W) * W;
    }
  }
  template <class Ctx>
  CLEAVE_HD static void fetch(Ctx const& c, Args const& args, Held& h, int g, int i0, int j0, int k0, int end) {
    CLEAVE_UNROLL
    for (int x = 0; x < a_packs; ++x) {
      int i, k;
      place<Case::a_along_k, BM, Case::a_width>(c.thread() + x * threads, i, k);
      bool const there = i0 + i < Case::m && k0 + k < end;
      if constexpr (Case::a_width > 1) {
        h.a[x] = there ? load<Case::a_width>(Case::a_at(args.of, g, i0 + i, k0 + k)) : Pack<T, Case::a_width>{};
      } else {
        h.a[x].v[0] = there ? Case::a(args.of, g, i0 + i, k0 + k) : T{};
      }
    }
    CLEAVE_UNROLL
    for (int x = 0; x < b_packs; ++x) {
      int j, k;
      place<!Case::b_along_n, BN, Case::b_width>(c.thread() + x * threads, j, k);
      bool const there = j0 + j < Case::n && k0 + k < end;
      if constexpr (Case::b_width > 1) {
        h.b[x] = there ? load<Case::b_width>(Case::b_at(args.of, g, k0 + k, j0 + j)) : Pack<T, Case::b_width>{};
      } else {
        h.b[x].v[0] = there ? Case::b(args.of, g, k0 + k, j0 + j) : T{};
      }
    }
  }
  template <class Ctx> CLEAVE_HD static void put(Ctx const& c, Held const& h, S* a, S* b) {
    CLEAVE_UNROLL
    for (int x = 0; x < a_packs; ++x) {
      int i, k;
      place<Case::a_along_k, BM, Case::a_width>(c.thread() + x * threads, i, k);
      CLEAVE_UNROLL
      for (int e = 0; e < Case::a_width; ++e) {
        int const at_i = Case::a_along_k ? i : i + e, at_k = Case::a_along_k ? k + e : k;
        a[plain ? at_k * a_line + at_i : at_i * a_line + at_k] = stored(h.a[x].v[e]);
      }
    }
    CLEAVE_UNROLL
    for (int x = 0; x < b_packs; ++x) {
      int j, k;
      place<!Case::b_along_n, BN, Case::b_width>(c.thread() + x * threads, j, k);
      CLEAVE_UNROLL
      for (int e = 0; e < Case::b_width; ++e) {
        int const at_j = Case::b_along_n ? j + e : j, at_k = Case::b_along_n ? k : k + e;
        b[plain ? at_k * b_line + at_j : at_j * b_line + at_k] = stored(h.b[x].v[e]);
      }
    }
  }
  CLEAVE_HD static void end(Args const& args, int split, int g, int i, int j, A v) {
    if (i >= Case::m || j >= Case::n) return;
    if constexpr (Splits == 1) {
      Case::store(args.of, g, i, j, v);
    } else {
      args.parts[((long{split} * Case::groups + g) * Case::m + i) * Case::n + j] = v;
    }
  }

  template <class Ctx> CLEAVE_HD static void run(Ctx const& c, Args const& args) {
    int t = c.block();
    int const i0 = t % B::rows_of_blocks * BM;
    t /= B::rows_of_blocks;
    int const j0 = t % B::columns_of_blocks * BN;
    t /= B::columns_of_blocks;
    int const g = t % Case::groups, split = t / Case::groups;
    int const begin = split * part,
              end_k = Splits == 1 || begin + part > Case::k ? static_cast<int>(Case::k) : begin + part;
    auto* const a = reinterpret_cast<S*>(c.shared());
    auto* const b = a + 2 * a_size;
    Held h;
    fetch(c, args, h, g, i0, j0, begin, end_k);
    if constexpr (plain) {
      constexpr int R = BM / 16, Q = BN / 16;
      A sum[R][Q]{};
      int const ti = c.thread() / 16, tj = c.thread() % 16;
      for (int k0 = begin, odd = 0; k0 < end_k; k0 += BK, odd ^= 1) {
        put(c, h, a + odd * a_size, b + odd * b_size);
        c.barrier();  // one per tile: the tile before last is no longer read by anyone who came here
        if (k0 + BK < end_k) fetch(c, args, h, g, i0, j0, k0 + BK, end_k);
        CLEAVE_UNROLL
        for (int k = 0; k < BK; ++k) {
          A x[R], y[Q];
          CLEAVE_UNROLL
          for (int r = 0; r < R; ++r) x[r] = a[odd * a_size + k * a_line + ti * R + r];
          CLEAVE_UNROLL
          for (int q = 0; q < Q; ++q) y[q] = b[odd * b_size + k * b_line + tj * Q + q];
          CLEAVE_UNROLL
          for (int r = 0; r < R; ++r) {
            CLEAVE_UNROLL
            for (int q = 0; q < Q; ++q) sum[r][q] += x[r] * y[q];
          }
        }
      }
      CLEAVE_UNROLL
      for (int r = 0; r < R; ++r) {
        CLEAVE_UNROLL
        for (int q = 0; q < Q; ++q) end(args, split, g, i0 + ti * R + r, j0 + tj * Q + q, sum[r][q]);
      }
    } else {
      constexpr int across = threads / 64;  // warps along n; two along m
      constexpr int WM = BM / 2, WN = BN / across, MT = WM / 16, NT = WN / 8;
      float sum[MT][NT][4]{};
      int const warp = c.thread() / lanes, lane = c.thread() % lanes, row = lane / 4, at = lane % 4;
      int const wi = warp / across * WM, wj = warp % across * WN;
      for (int k0 = begin, odd = 0; k0 < end_k; k0 += BK, odd ^= 1) {
        S* const ta = a + odd * a_size;
        S* const tb = b + odd * b_size;
        put(c, h, ta, tb);
        c.barrier();
        if (k0 + BK < end_k) fetch(c, args, h, g, i0, j0, k0 + BK, end_k);
        CLEAVE_UNROLL
        for (int k = 0; k < BK; k += Tile::k) {
          std::uint32_t x[MT][4], y[NT][2];
          CLEAVE_UNROLL
          for (int r = 0; r < MT; ++r) {
            CLEAVE_UNROLL
            for (int e = 0; e < 4; ++e) {
              x[r][e] =
                  Tile::of(ta + (wi + r * 16 + row + e % 2 * 8) * a_line + k + at * Tile::per + e / 2 * (Tile::k / 2));
            }
          }
          CLEAVE_UNROLL
          for (int q = 0; q < NT; ++q) {
            CLEAVE_UNROLL
            for (int e = 0; e < 2; ++e) {
              y[q][e] = Tile::of(tb + (wj + q * 8 + row) * b_line + k + at * Tile::per + e * (Tile::k / 2));
            }
          }
          CLEAVE_UNROLL
          for (int r = 0; r < MT; ++r) {
            CLEAVE_UNROLL
            for (int q = 0; q < NT; ++q) c.multiply(Tile{}, sum[r][q], x[r], y[q]);
          }
        }
      }
      CLEAVE_UNROLL
      for (int r = 0; r < MT; ++r) {
        CLEAVE_UNROLL
        for (int q = 0; q < NT; ++q) {
          CLEAVE_UNROLL
          for (int e = 0; e < 4; ++e) {
            end(args, split, g, i0 + wi + r * 16 + row + e / 2 * 8, j0 + wj + q * 8 + at * 2 + e % 2,
                static_cast<A>(sum[r][q][e]));
          }
        }
      }
    }
  }
};

/// The end of a split product: the parts in their order.
template <class Case, class A, int Splits> struct Join {
  struct Args {
    typename Case::Args of;
    A const* parts;
  };
  static constexpr int threads = 256, shared_bytes = 0;
  static constexpr bool alone = true;
  template <class Ctx> CLEAVE_HD static void run(Ctx const& c, Args const& args) {
    constexpr long size = long{Case::m} * Case::n * Case::groups;
    c.each(size, [&](long e) {
      A sum = args.parts[e];
      for (int s = 1; s < Splits; ++s) sum += args.parts[s * size + e];
      Case::store(args.of, static_cast<int>(e / (long{Case::m} * Case::n)), static_cast<int>(e / Case::n % Case::m),
                  static_cast<int>(e % Case::n), sum);
    });
  }
};

/// bf16 goes through tensor cores, f32 and f64 through plain multiply-adds.
template <class T> using tile_of = std::conditional_t<std::is_same_v<T, bf16>, Bf16Tile, Plain>;

template <class Case, class Queue> void contract(Queue q, typename Case::Args const& args) {
  using A = tensor::accumulate_t<typename Case::T>;
  using Tile = tile_of<typename Case::T>;
  constexpr int s = splits<Case, Tile, A>(Queue::workspace_bytes);
  using K = Contract<Case, A, Tile, s>;
  A* const parts = reinterpret_cast<A*>(q.workspace);
  q.template launch<K>(K::blocks, {args, parts});
  if constexpr (s > 1) {
    q.template launch<Join<Case, A, s>>(blocks_each(long{Case::m} * Case::n * Case::groups), {args, parts});
  }
}

/// The widest pack that divides an extent: 16 bytes, or single elements.
template <class T> constexpr int width_for(long extent) {
  constexpr int w = static_cast<int>(16 / sizeof(T));
  return extent % w == 0 ? w : 1;
}

}  // namespace cleave::backend::gpu
