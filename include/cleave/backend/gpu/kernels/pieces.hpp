// backend/gpu/kernels/pieces.hpp - how the threads of a block bring an operand's tile into shared memory, 16 bytes at a time.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "context.hpp"
#include "pack.hpp"

namespace cleave::backend::gpu {

// A tile has 64 of k. It lies in lines of 128 bytes: along k, one line for each row or column; otherwise one line for
// each k, 64 rows or columns in it. Within a line, the piece of 16 bytes number c is at c ^ (line % 8), so that neither
// a copy nor a product has two threads at one bank.
inline constexpr int tile_depth = 64;

/// Where a thread's pieces are: its lines are `step` apart.
template <int Threads, bool AlongK, int Across> struct Pieces {
  static constexpr int step = Threads / 8, count = Across * 8 / Threads;
  static_assert(step % 8 == 0 && tile_depth % step == 0 && Across * 8 % Threads == 0);
  int to, across, k;  // bytes from the beginning of the tile, rows or columns and k from its first

  CLEAVE_HD explicit Pieces(int thread) {
    int const line = thread / 8, piece = thread % 8;
    to = line * 128 + (piece ^ line % 8) * 16;
    across = AlongK ? line : piece * 8;
    k = AlongK ? piece * 8 : line;
  }
  /// How far piece x is from the first.
  CLEAVE_HD static constexpr int down(int x) { return AlongK ? 0 : x * step % tile_depth; }
  CLEAVE_HD static constexpr int right(int x) { return AlongK ? x * step : x * step / tile_depth * 64; }
};

/// A dense operand is copied; if it is not aligned to 16 bytes, as the weights behind a bias of 10 are not, element by
/// element. `Pitch`: elements from line to line in memory.
template <class T, int Threads, bool AlongK, int Across, long Pitch> struct Dense : Pieces<Threads, AlongK, Across> {
  using P = Pieces<Threads, AlongK, Across>;
  T const* from;  // of the first tile
  int limit;
  bool aligned;

  /// From its element (across, k0) on; `left` elements across are there.
  CLEAVE_HD Dense(int thread, T const* at, int first, int k0, int left) : P(thread), limit(left - this->across) {
    long const i = long{first} + this->across, q = long{k0} + this->k;
    from = at + (AlongK ? i * Pitch + q : q * Pitch + i);
    aligned = on_boundary<8>(at);
  }
  /// The tile that begins at k0 of `terms`.
  template <class Ctx> CLEAVE_HD void fetch(Ctx const& c, std::byte* tile, int k0, int terms) const {
    T const* const at = from + (AlongK ? long{k0} : k0 * Pitch);
    auto const piece = [&](int x) { return at + (AlongK ? P::right(x) * Pitch : P::down(x) * Pitch + P::right(x)); };
    auto const there = [&](int x) { return k0 + this->k + P::down(x) < terms && P::right(x) < limit; };
    std::byte* const first = tile + this->to;
    if (aligned) {
      CLEAVE_UNROLL
      for (int x = 0; x < P::count; ++x) c.copy_async(first + x * P::step * 128, piece(x), there(x));
      return;
    }
#ifdef __CUDA_ARCH__
#pragma unroll 1
#endif
    for (int x = 0; x < P::count; ++x) {
      std::uint64_t low = 0, high = 0;
#ifdef __CUDA_ARCH__
#pragma unroll 1
#endif
      for (int e = 0; e < (there(x) ? 4 : 0); ++e) {
        low |= bits_of(piece(x)[e]) << e * 16;
        high |= bits_of(piece(x)[e + 4]) << e * 16;
      }
      *reinterpret_cast<Piece*>(first + x * P::step * 128) = {{low, high}};
    }
  }
};
/// Another operand is gathered, through registers: piece(across, k).
template <int Threads, bool AlongK, int Across, class Get> struct Gathered : Pieces<Threads, AlongK, Across> {
  using P = Pieces<Threads, AlongK, Across>;
  Get piece;
  int first, begin, limit;

  CLEAVE_HD Gathered(int thread, Get p, int first_, int k0, int left)
      : P(thread), piece(p), first(first_ + this->across), begin(k0 + this->k), limit(left - this->across) {}
  template <class Ctx> CLEAVE_HD void fetch(Ctx const&, std::byte* tile, int k0, int terms) const {
    CLEAVE_UNROLL
    for (int x = 0; x < P::count; ++x) {
      bool const there = k0 + this->k + P::down(x) < terms && P::right(x) < limit;
      *reinterpret_cast<Piece*>(tile + this->to + x * P::step * 128) =
          there ? piece(first + P::right(x), begin + k0 + P::down(x)) : Piece{};
    }
  }
};

}  // namespace cleave::backend::gpu
