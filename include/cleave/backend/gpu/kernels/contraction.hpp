// backend/gpu/kernels/contraction.hpp - the kernel of C = A B of constant sizes, tiled over blocks, with or without tensor cores.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <limits>

#include "blocking.hpp"
#include "branches.hpp"

namespace cleave::backend::gpu {

// Sums have type A. With a Tile of fragment.hpp, products use tensor cores; otherwise each element is one chain of
// multiply-adds in the order of k, whose bits do not depend on m, n, the slices or the blocks.

template <class Case, class A> struct ContractArgs {
  typename Case::Args of;
  A* parts;  // (slices if k grows, splits, groups, m, n), after the maxima
  int first, slices;
};

/// `Apart`: blocks store sums of parts, which Join adds. If k grows and they do not, a block processes one slice after
/// the other.
template <class Case, class A, class Tile, int Splits, bool Apart = (Splits > 1), class B_ = Blocking<Case, Tile>>
struct Contract {
  static_assert(Apart || Splits == 1);
  using Args = ContractArgs<Case, A>;
  using Size = Extents<Case>;
  using B = B_;
  using T = typename Case::T;
  static constexpr bool plain = B::plain, alone = false;
  static constexpr int threads = B::threads, BM = B::rows, BN = B::columns, BK = B::depth;
  static constexpr bool sums = Case::grows == Extent::K;
  static constexpr int part = (blocks_for(Case::k, BK) + Splits - 1) / Splits * BK;
  // Shared memory: for plain sums (k, i) and (k, j), for tensor cores (i, k) and (j, k); lines are padded so that lanes
  // access different banks.
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
  static_assert(BM * BK / Case::a_width % threads == 0 && BN * BK / Case::b_width % threads == 0);
  struct Held {
    Pack<T, Case::a_width> a[a_packs];
    Pack<T, Case::b_width> b[b_packs];
  };

  /// Extent of a block's tile in C.
  struct Place {
    int i, j, g;
  };

  template <class F> CLEAVE_HD static S stored(T v, [[maybe_unused]] F const& f) {
    if constexpr (plain) {
      return static_cast<A>(v);
    } else if constexpr (scaled) {
      return Tile::stored(f(v));
    } else {
      return Tile::stored(v);
    }
  }
  /// Position of pack p in an operand's tile: along k or across.
  template <bool Along, int Extent, int W> CLEAVE_HD static void place(int p, int& across, int& k) {
    if constexpr (Along) {
      across = p / (BK / W);
      k = p % (BK / W) * W;
    } else {
      k = p / (Extent / W);
      across = p % (Extent / W) * W;
    }
  }
  /// Factors of a thread's packs, each of which belongs to one slice.
  static constexpr bool scaled = tensor::scaled<T>;
  static constexpr bool a_varies = scaled && Case::grows == Extent::M, b_varies = scaled && Case::grows == Extent::N;
  static_assert((!a_varies || Case::a_along_k || Case::a_width == 1) &&
                (!b_varies || !Case::b_along_n || Case::b_width == 1));
  struct HeldFactors {
    Factors<T, Case::a_role, a_varies ? a_packs : 1> a;
    Factors<T, Case::b_role, b_varies ? b_packs : 1> b;
  };
  template <class Ctx>
  CLEAVE_HD static void measure(Ctx const& c, Args const& args, HeldFactors& f, Place const& p, int slice) {
    using P = PeaksOf<Case>;
    auto const* const peaks = reinterpret_cast<std::uint16_t const*>(args.parts) - P::bytes / 2;
    auto const bounded = [&](int s) { return s < args.slices ? s : args.slices - 1; };  // past the end of C
    f.a.template measure<P::a_each>(peaks, [&](int x) {
      int i = 0, k = 0;
      place<Case::a_along_k, BM, Case::a_width>(c.thread() + x * threads, i, k);
      return a_varies ? bounded((p.i + i) / Case::m) : sums ? slice : 0;
    });
    f.b.template measure<P::b_each>(peaks + P::b_at, [&](int x) {
      int j = 0, k = 0;
      place<!Case::b_along_n, BN, Case::b_width>(c.thread() + x * threads, j, k);
      return b_varies ? bounded((p.j + j) / Case::n) : sums ? slice : 0;
    });
  }

  template <class Ctx>
  CLEAVE_HD static void fetch(Ctx const& c, Args const& args, Size const& size, Held& h, Place const& p, int k0,
                              int end) {
    CLEAVE_UNROLL
    for (int x = 0; x < a_packs; ++x) {
      int i, k;
      place<Case::a_along_k, BM, Case::a_width>(c.thread() + x * threads, i, k);
      bool const there = p.i + i < size.m && k0 + k < end;
      if constexpr (Case::a_width > 1) {
        h.a[x] = there ? load<Case::a_width>(Case::a_at(args.of, p.g, p.i + i, k0 + k)) : Pack<T, Case::a_width>{};
      } else {
        h.a[x].v[0] = there ? Case::a(args.of, p.g, p.i + i, k0 + k) : T{};
      }
    }
    CLEAVE_UNROLL
    for (int x = 0; x < b_packs; ++x) {
      int j, k;
      place<!Case::b_along_n, BN, Case::b_width>(c.thread() + x * threads, j, k);
      bool const there = p.j + j < size.n && k0 + k < end;
      if constexpr (Case::b_width > 1) {
        h.b[x] = there ? load<Case::b_width>(Case::b_at(args.of, p.g, k0 + k, p.j + j)) : Pack<T, Case::b_width>{};
      } else {
        h.b[x].v[0] = there ? Case::b(args.of, p.g, k0 + k, p.j + j) : T{};
      }
    }
  }
  template <class Ctx> CLEAVE_HD static void put(Ctx const& c, Held const& h, HeldFactors const& f, S* a, S* b) {
    CLEAVE_UNROLL
    for (int x = 0; x < a_packs; ++x) {
      int i, k;
      place<Case::a_along_k, BM, Case::a_width>(c.thread() + x * threads, i, k);
      CLEAVE_UNROLL
      for (int e = 0; e < Case::a_width; ++e) {
        int const at_i = Case::a_along_k ? i : i + e, at_k = Case::a_along_k ? k + e : k;
        a[plain ? at_k * a_line + at_i : at_i * a_line + at_k] = stored(h.a[x].v[e], f.a[x]);
      }
    }
    CLEAVE_UNROLL
    for (int x = 0; x < b_packs; ++x) {
      int j, k;
      place<!Case::b_along_n, BN, Case::b_width>(c.thread() + x * threads, j, k);
      CLEAVE_UNROLL
      for (int e = 0; e < Case::b_width; ++e) {
        int const at_j = Case::b_along_n ? j + e : j, at_k = Case::b_along_n ? k : k + e;
        b[plain ? at_k * b_line + at_j : at_j * b_line + at_k] = stored(h.b[x].v[e], f.b[x]);
      }
    }
  }
  // The elements of the block's tile that a thread sums.
  static constexpr int warps_along_n = threads / 64;  // two along m
  static constexpr int R = plain ? BM / 16 : BM / 32, Q = plain ? BN / 16 : BN / warps_along_n / 8, E = plain ? 1 : 4;
  using Sums = pick<plain, A, float>[R][Q][E];
  /// f(i, j, sum) for each of them that is inside C.
  template <class Ctx, class F>
  CLEAVE_HD static void each(Ctx const& c, Size const& size, Place const& p, Sums& sum, F const& f) {
    int const warp = c.thread() / lanes, lane = c.thread() % lanes;
    int const i0 = p.i + (plain ? c.thread() / 16 * R : warp / warps_along_n * (BM / 2) + lane / 4);
    int const j0 = p.j + (plain ? c.thread() % 16 * Q : warp % warps_along_n * (BN / warps_along_n) + lane % 4 * 2);
    CLEAVE_UNROLL
    for (int r = 0; r < R; ++r) {
      CLEAVE_UNROLL
      for (int q = 0; q < Q; ++q) {
        CLEAVE_UNROLL
        for (int e = 0; e < E; ++e) {
          int const i = plain ? i0 + r : i0 + r * 16 + e / 2 * 8, j = plain ? j0 + q : j0 + q * 8 + e % 2;
          if (i < size.m && j < size.n) f(i, j, sum[r][q][e]);
        }
      }
    }
  }

  /// The sums over [begin, end) of k, of one slice if k grows. `odd` selects the half of shared memory that is written
  /// next.
  template <class Ctx>
  CLEAVE_HD static void multiply(Ctx const& c, Args const& args, Size const& size, Place const& p,
                                 [[maybe_unused]] int slice, int begin, int end, int& odd, Sums& sum) {
    auto* const a = reinterpret_cast<S*>(c.shared());
    auto* const b = a + 2 * a_size;
    int const warp = c.thread() / lanes, lane = c.thread() % lanes, row = lane / 4, at = lane % 4;
    int const wi = warp / warps_along_n * (BM / 2), wj = warp % warps_along_n * (BN / warps_along_n);
    CLEAVE_UNROLL
    for (int r = 0; r < R; ++r) {
      CLEAVE_UNROLL
      for (int q = 0; q < Q; ++q) {
        CLEAVE_UNROLL
        for (int e = 0; e < E; ++e) sum[r][q][e] = 0;
      }
    }
    HeldFactors f;
    if constexpr (scaled) measure(c, args, f, p, slice);
    Held h;
    fetch(c, args, size, h, p, begin, end);
    for (int k0 = begin; k0 < end; k0 += BK, odd ^= 1) {
      S* const ta = a + odd * a_size;
      S* const tb = b + odd * b_size;
      put(c, h, f, ta, tb);
      c.barrier();  // one per tile: all threads here have finished reading the tile before last
      if (k0 + BK < end) fetch(c, args, size, h, p, k0 + BK, end);
      if constexpr (plain) {
        CLEAVE_UNROLL
        for (int k = 0; k < BK; ++k) {
          A x[R], y[Q];
          CLEAVE_UNROLL
          for (int r = 0; r < R; ++r) x[r] = ta[k * a_line + c.thread() / 16 * R + r];
          CLEAVE_UNROLL
          for (int q = 0; q < Q; ++q) y[q] = tb[k * b_line + c.thread() % 16 * Q + q];
          CLEAVE_UNROLL
          for (int r = 0; r < R; ++r) {
            CLEAVE_UNROLL
            for (int q = 0; q < Q; ++q) sum[r][q][0] += x[r] * y[q];
          }
        }
      } else {
        CLEAVE_UNROLL
        for (int k = 0; k < BK; k += Tile::k) {
          std::uint32_t x[R][4], y[Q][2];
          CLEAVE_UNROLL
          for (int r = 0; r < R; ++r) {
            CLEAVE_UNROLL
            for (int e = 0; e < 4; ++e) {
              x[r][e] =
                  Tile::of(ta + (wi + r * 16 + row + e % 2 * 8) * a_line + k + at * Tile::per + e / 2 * (Tile::k / 2));
            }
          }
          CLEAVE_UNROLL
          for (int q = 0; q < Q; ++q) {
            CLEAVE_UNROLL
            for (int e = 0; e < 2; ++e) {
              y[q][e] = Tile::of(tb + (wj + q * 8 + row) * b_line + k + at * Tile::per + e * (Tile::k / 2));
            }
          }
          CLEAVE_UNROLL
          for (int r = 0; r < R; ++r) {
            CLEAVE_UNROLL
            for (int q = 0; q < Q; ++q) c.multiply(Tile{}, sum[r][q], x[r], y[q]);
          }
        }
      }
    }
  }

  template <class Ctx> CLEAVE_HD static void run(Ctx const& c, Args const& args) {
    Size const size(args.slices);
    int const down = (size.m + BM - 1) / BM, right = (size.n + BN - 1) / BN;
    int t = c.block();
    Place p{t % down * BM, t / down % right * BN, t / down / right % Case::groups};
    t = t / down / right / Case::groups;  // which part
    int odd = 0;
    Sums sum;
    if constexpr (Apart) {
      int const slice = args.first + t / Splits, begin = slice * Case::k + t % Splits * part;
      int const last = (slice + 1) * Case::k;
      multiply(c, args, size, p, slice, begin, begin + part < last ? begin + part : last, odd, sum);
      A* const to = args.parts + (long{t} * Case::groups + p.g) * size.m * size.n;
      each(c, size, p, sum, [&](int i, int j, auto v) { to[long{i} * size.n + j] = v; });
    } else if constexpr (sums) {
      Turn<T> turn(Case::to(args.of));
      for (int s = 0; s < args.slices; ++s) {
        multiply(c, args, size, p, s, s * Case::k, (s + 1) * Case::k, odd, sum);
        turn.put(weights(Case::to(args.of).dw0, [&](auto f) {
          each(c, size, p, sum, [&](int i, int j, auto& v) { f(Case::at(p.g, i, j), v); });
        }));
      }
    } else {
      multiply(c, args, size, p, 0, 0, Case::k, odd, sum);
      each(c, size, p, sum, [&](int i, int j, auto v) { Case::store(args.of, p.g, i, j, static_cast<A>(v)); });
    }
  }
};

}  // namespace cleave::backend::gpu
