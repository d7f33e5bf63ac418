// backend/gpu/kernels/warpgroups.hpp - the kernel of C = A B in 16-bit formats by warpgroups, whose tensor cores read shared memory.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "blocking.hpp"
#include "branches.hpp"
#include "contraction.hpp"
#include "pieces.hpp"

namespace cleave::backend::gpu {

/// How such a contraction is tiled: rows and columns of a block's tile, stages of shared memory for tiles of k, blocks
/// that share a multiprocessor.
struct GroupTile {
  int rows, columns, stages, blocks;
};

/// As Contract (contraction.hpp), where each of a block's warpgroups has 64 rows of its tile. If k grows and blocks do
/// not store parts, it is launched once for each slice.
template <class Case, class A, GroupTile How, int Splits, bool Apart = (Splits > 1)> struct GroupContract {
  static_assert(Apart || Splits == 1);
  using Args = ContractArgs<Case, A>;
  using Size = Extents<Case>;
  using T = typename Case::T;
  using Tile = tile_of<T>;
  static constexpr bool alone = false, by_warpgroups = true, sums = Case::grows == Extent::K;
  static constexpr int BM = How.rows, BN = How.columns, BK = tile_depth, Stages = How.stages;
  static constexpr int threads = BM / 64 * 128, resident_blocks = How.blocks;
  static constexpr int a_bytes = BM * 128, b_bytes = BN * 128, stage_bytes = a_bytes + b_bytes;
  static constexpr int shared_bytes = Stages * stage_bytes;
  static constexpr int ahead = Stages - 2;  // tiles that are copied while one is multiplied
  static constexpr int part = (blocks_for(Case::k, BK) + Splits - 1) / Splits * BK;
  static_assert(sizeof(T) == 2 && ahead >= 1);
  static_assert(shared_bytes > 48 << 10, "dynamic, on a boundary of 1024 bytes, which the swizzle needs");
  using Sums = float[BN / 2];

  struct Corner {
    int i, j;
  };
  CLEAVE_HD static auto of_a(int thread, Args const& args, Corner const& p, int k0, Size const& size) {
    if constexpr (Case::a_width == 8) {
      constexpr long pitch = Case::a_along_k ? Case::k : Case::m;
      return Dense<T, threads, Case::a_along_k, BM, pitch>(thread, Case::a_from(args.of), p.i, k0, size.m - p.i);
    } else {
      auto const piece = [&args](int i, int q) {
        if constexpr (requires { Case::a_piece(args.of, i, q); }) {
          return Case::a_piece(args.of, i, q);
        } else {
          Piece eight{};
          CLEAVE_UNROLL
          for (int e = 0; e < 8; ++e) {
            if (q + e < Case::k) eight.v[e / 4] |= bits_of(Case::a(args.of, 0, i, q + e)) << e % 4 * 16;
          }
          return eight;
        }
      };
      return Gathered<threads, Case::a_along_k, BM, decltype(piece)>(thread, piece, p.i, k0, size.m - p.i);
    }
  }
  CLEAVE_HD static auto of_b(int thread, Args const& args, Corner const& p, int k0, Size const& size) {
    if constexpr (Case::b_width == 8) {
      constexpr long pitch = Case::b_along_n ? Case::n : Case::k;
      return Dense<T, threads, !Case::b_along_n, BN, pitch>(thread, Case::b_from(args.of), p.j, k0, size.n - p.j);
    } else {
      auto const piece = [&args](int j, int q) { return Case::b_piece(args.of, q, j); };
      return Gathered<threads, !Case::b_along_n, BN, decltype(piece)>(thread, piece, p.j, k0, size.n - p.j);
    }
  }

  /// The sums over [begin, end) of k. Each warpgroup has 64 rows of the tile.
  template <class Ctx>
  CLEAVE_HD static void multiply(Ctx const& c, Args const& args, Size const& size, Corner const& p, int begin, int end,
                                 Sums& sum) {
    std::byte* const shared = c.shared();
    int const terms = end - begin, tiles = (terms + BK - 1) / BK, group = c.thread() / 128;
    auto const tile_a = of_a(c.thread(), args, p, begin, size);
    auto const tile_b = of_b(c.thread(), args, p, begin, size);
    auto const fetch = [&](int t, int stage) {
      tile_a.fetch(c, shared + stage * stage_bytes, t * BK, terms);
      tile_b.fetch(c, shared + stage * stage_bytes + a_bytes, t * BK, terms);
    };
    for (int t = 0; t < ahead; ++t) {
      if (t < tiles) fetch(t, t);
      c.commit_copies();
    }
    if constexpr (Apart) {
      if (tiles <= 0) {
        for (int e = 0; e < BN / 2; ++e) sum[e] = 0;
      }
    }
    int now = 0, next = ahead;  // stages: of this tile, of the one that is fetched
    for (int t = 0; t < tiles; ++t) {
      c.template wait_copies<ahead - 1>();
      c.share_copies();
      c.barrier();  // all have copied this tile, and all have multiplied the tile before last
      std::byte const* const a = shared + now * stage_bytes + (Case::a_along_k ? group * 64 * 128 : group * BK * 128);
      std::byte const* const b = shared + now * stage_bytes + a_bytes;
      c.begin_products();
      CLEAVE_UNROLL
      for (int k = 0; k < BK; k += 16) {
        c.template multiply_group<BN, Case::a_along_k, !Case::b_along_n, BK>(
            Tile{}, sum, a + (Case::a_along_k ? k * 2 : k * 128), b + (Case::b_along_n ? k * 128 : k * 2), t + k > 0);
      }
      c.commit_products();
      if (t + ahead < tiles) fetch(t + ahead, next);
      c.commit_copies();
      c.template wait_products<1>(sum);
      now = now + 1 == Stages ? 0 : now + 1;
      next = next + 1 == Stages ? 0 : next + 1;
    }
    c.template wait_products<0>(sum);
  }
  /// f(i, j, sum) for each element that a thread holds and that is inside C.
  template <class Ctx, class F>
  CLEAVE_HD static void each(Ctx const& c, Size const& size, Corner const& p, Sums& sum, F const& f) {
    int const warp = c.thread() / lanes, lane = c.thread() % lanes;
    int const i0 = p.i + warp * 16 + lane / 4, j0 = p.j + lane % 4 * 2;
    CLEAVE_UNROLL
    for (int e = 0; e < BN / 2; ++e) {
      int const i = i0 + e / 2 % 2 * 8, j = j0 + e / 4 * 8 + e % 2;
      if (i < size.m && j < size.n) f(i, j, sum[e]);
    }
  }

  /// What is stored at (i, j) is a value of its own, and 8 neighbours of a row are stored at a time.
  static constexpr bool packs = Case::n % 8 == 0 && requires(Args const& args, A v) { Case::ended(args.of, 0, 0, v); };
  /// Through shared memory, where a warp turns its 16 rows: a thread holds two neighbours in each 8 columns.
  template <class Ctx>
  CLEAVE_HD static void store_packs(Ctx const& c, Args const& args, Size const& size, Corner const& p,
                                    Sums const& sum) {
    constexpr int line = BN * 2 + 16, in_line = BN / 8;
    static_assert(threads / lanes * 16 * line <= shared_bytes);
    int const warp = c.thread() / lanes, lane = c.thread() % lanes;
    std::byte* const own = c.shared() + warp * 16 * line;
    c.barrier();  // all have multiplied the last tiles
    CLEAVE_UNROLL
    for (int first = 0; first < BN / 2; first += 16) {
      Pack<T, 2> two[8];  // before any is stored: a load of a bias would wait for a store that may alias it
      CLEAVE_UNROLL
      for (int x = 0; x < 8; ++x) {
        int const e = first + 2 * x, i = p.i + warp * 16 + lane / 4 + x % 2 * 8, j = p.j + e / 4 * 8 + lane % 4 * 2;
        bool const there = i < size.m && j < size.n;
        two[x] = {{there ? Case::ended(args.of, i, j, static_cast<A>(sum[e])) : T{},
                   there ? Case::ended(args.of, i, j + 1, static_cast<A>(sum[e + 1])) : T{}}};
      }
      CLEAVE_UNROLL
      for (int x = 0; x < 8; ++x) {
        int const row = lane / 4 + x % 2 * 8, j = (first + 2 * x) / 4 * 8 + lane % 4 * 2;
        *reinterpret_cast<Pack<T, 2>*>(own + row * line + j * 2) = two[x];
      }
    }
    c.warp_barrier();
    CLEAVE_UNROLL
    for (int x = 0; x < 16 * in_line / lanes; ++x) {
      int const at = lane + x * lanes, row = at / in_line, j = at % in_line * 8, i = p.i + warp * 16 + row;
      if (i < size.m && p.j + j < size.n) {
        T* const to = Case::place(args.of, i, p.j + j);
        store<8>(to, *reinterpret_cast<Pack<T, 8> const*>(own + row * line + j * 2));
        if constexpr (Case::Behind::size > 0) {
          for (int e = 0; e < 8; ++e) args.of.tail(to + e - Case::place(args.of, 0, 0));
        }
      }
    }
  }

  template <class Ctx> CLEAVE_HD static void run(Ctx const& c, Args const& args) {
    Size const size(args.slices);
    int const down = (size.m + BM - 1) / BM, right = (size.n + BN - 1) / BN;
    // Tiles in groups of rows, so that blocks that run at the same time read few rows and columns.
    constexpr int near = 2048 / BM;
    int const plane = down * right, t = c.block() % plane, which = c.block() / plane;
    int const first = t / (near * right) * near, high = down - first < near ? down - first : near;
    Corner const p{(first + t % (near * right) % high) * BM, t % (near * right) / high * BN};
    Sums sum;
    if constexpr (Apart) {
      int const slice = args.first + which / Splits, begin = slice * Case::k + which % Splits * part;
      int const last = (slice + 1) * Case::k;
      multiply(c, args, size, p, begin, begin + part < last ? begin + part : last, sum);
      A* const to = args.parts + long{which} * size.m * size.n;
      each(c, size, p, sum, [&](int i, int j, auto v) { to[long{i} * size.n + j] = v; });
    } else if constexpr (sums) {
      multiply(c, args, size, p, args.first * Case::k, (args.first + 1) * Case::k, sum);
      Turn<T> turn(Case::to(args.of), args.first);
      turn.put(weights(Case::to(args.of).dw0, [&](auto f) {
        each(c, size, p, sum, [&](int i, int j, auto& v) { f(Case::at(0, i, j), v); });
      }));
    } else {
      multiply(c, args, size, p, 0, Case::k, sum);
      if constexpr (packs) {
        store_packs(c, args, size, p, sum);
      } else {
        each(c, size, p, sum, [&](int i, int j, auto v) { Case::store(args.of, 0, i, j, static_cast<A>(v)); });
      }
    }
  }
};

template <class Case> inline constexpr bool gathers_pieces = requires { requires Case::pieces; };
template <class Case> inline constexpr int all_slices = Case::all_slices < 1 ? 1 : Case::all_slices;
/// Rows of C, of the whole batch.
template <class Case>
inline constexpr long all_rows = long{Case::m} * (Case::grows == Extent::M ? all_slices<Case> : 1);

/// Whether warpgroups can multiply a contraction: operands are dense matrices, with rows of whole pieces of 16 bytes,
/// or the case gathers pieces.
template <class Case> constexpr bool by_groups() {
  using T = typename Case::T;
  constexpr bool halves = std::is_same_v<T, bf16> || std::is_same_v<T, f16>;
  constexpr bool dense = Case::a_width == 8 && Case::b_width == 8 && Case::n >= 64;
  return halves && (dense || gathers_pieces<Case>)&&Case::groups == 1 && Case::k >= 64 && all_rows<Case> >= 64;
}
/// Whether they are faster at it than a chain's kernel by more than a launch takes.
template <class Case> constexpr bool better_by_groups() {
  return by_groups<Case>() && all_rows<Case> * Case::n * Case::k >= 1L << 27;
}
/// By the extents of the whole batch, so that every bit is the same on any number of ranks.
template <class Case> constexpr GroupTile group_tile() {
  if (gathers_pieces<Case>) return {64, 128, 3, 3};
  // `busy`: TFLOP/s of such tiles on all 132 multiprocessors of an H200. The result is proportional to that, and to the
  // share of the waves of tiles that is used.
  constexpr auto speed = [](int rows, int columns, long busy) {
    long const tiles = long{blocks_for(all_rows<Case>, rows)} * blocks_for(Case::n, columns),
               waves = (tiles + 131) / 132;
    return busy * all_rows<Case> * Case::n / waves / (rows * columns);
  };
  constexpr long large = speed(128, 256, 800), middle = speed(128, 128, 550), small = speed(64, 64, 250);
  if (large >= middle && large >= small) return {128, 256, 4, 1};
  if (middle >= small) return {128, 128, 3, 2};
  return {64, 64, 4, 3};
}
template <class Case> constexpr int group_tiles(GroupTile how) {
  return blocks_for(Case::m, how.rows) * blocks_for(Case::n, how.columns);
}
/// Number of parts into which k is split where tiles are too few to fill a device. See splits().
template <class Case, class A> constexpr int group_splits(GroupTile how, long room_bytes) {
  int const tiles = group_tiles<Case>(how);
  int s = 1;
  while (tiles * s < 132 && Case::k / (2 * s) >= 128 && 2 * s * all_slices<Case> <= room<Case, A>(room_bytes)) s *= 2;
  return s;
}

}  // namespace cleave::backend::gpu
