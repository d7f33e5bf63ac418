// backend/host/kernels/tiling.hpp - how a matrix product of known size is cut: into register tiles, and into blocks for the caches.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

namespace cleave::backend::host {

struct Tile {
  int rows = 1, vectors = 1;
};

/// Half cycles of one step of k on a core with two vector units and two load ports, with a latency of four cycles a
/// sum.
constexpr long step_cost(int rows, int vectors) {
  int const fma = rows * vectors, loads = rows + vectors;
  int const busy = fma > loads ? fma : loads;
  return (busy > 8 ? busy : 8) + 1;
}

/// The tile that covers (m, n vectors) in the least time within the registers; of two equals, the larger panel.
constexpr Tile best_tile(long m, long n, int registers) {
  Tile best;
  long least = -1;
  for (int v = 1; v <= 16 && v <= n; ++v) {
    for (int r = 1; r <= 8 && r <= m && r * v + v + 1 <= registers; ++r) {
      long const rest = m % r, side = n % v;
      long cost = (n / v) * ((m / r) * step_cost(r, v) + (rest > 0 ? step_cost(static_cast<int>(rest), v) : 0));
      if (side > 0) {
        int const s = static_cast<int>(side);
        cost += (m / r) * step_cost(r, s) + (rest > 0 ? step_cost(static_cast<int>(rest), s) : 0);
      }
      if (least < 0 || cost < least) {
        least = cost;
        best = {r, v};
      }
    }
  }
  return best;
}

constexpr long up(long n, long to) { return (n + to - 1) / to * to; }
constexpr long down(long n, long to) { return n / to * to; }
constexpr long smaller(long a, long b) { return a < b ? a : b; }

/// k in equal blocks of at most `most`.
constexpr long even_block(long k, long most) {
  long const blocks = (k + most - 1) / most;
  return (k + blocks - 1) / blocks;
}

/// Sizes in the workspace, in bytes: packed rows of A for the second-level cache, one panel of B for the first, and
/// sums that cannot stay in C.
inline constexpr long rows_bytes = 512L << 10, panel_bytes = 32L << 10, sums_bytes = 256L << 10;
/// Of a panel of all k, which takes half of the space for sums.
inline constexpr long long_panel_bytes = 2 * panel_bytes + sums_bytes / 2;

}  // namespace cleave::backend::host
