// backend/gpu/kernels/blocking.hpp - how a contraction is tiled over blocks, and how long sums are split into parts.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <type_traits>

#include "fragment.hpp"
#include "peaks.hpp"

namespace cleave::backend::gpu {

// A Case describes a contraction; `Args` holds its operands.
//   m, n, k, groups               extents of a slice; element (i, j) of C is the sum over k of a(i, k) b(k, j)
//   grows                         which of m, n and k is longer for several slices; if k, each slice has a separate C
//   all_slices                    of the whole batch, over all ranks
//   a_role, a_count, a_from(args) operand a: its Role, the elements of a slice, its first element; the same for b
//   a(args, group, i, k), b(.., k, j)   T: an element. With a_width > 1, a_at(..) points at a_width neighbours instead
//   a_along_k, b_along_n          which index is contiguous in memory
//   store(args, group, i, j, sum) the epilogue: bias, map, conversion, store
//   at(group, i, j), to(args)     if k grows: the element of C, and the branches that sums are merged with
enum class Extent : unsigned char { M, N, K };

/// For all slices that are multiplied in one launch.
template <class Case> struct Extents {
  int m, n;
  CLEAVE_HD explicit Extents(int slices)
      : m(Case::m * (Case::grows == Extent::M ? slices : 1)), n(Case::n * (Case::grows == Extent::N ? slices : 1)) {}
};

/// The widest pack that divides an extent: 16 bytes, or single elements.
template <class T> constexpr int width_for(long extent) {
  constexpr int w = static_cast<int>(16 / sizeof(T));
  return extent % w == 0 ? w : 1;
}

template <class Case, class Tile> struct Blocking {
  static constexpr bool plain = std::is_same_v<Tile, Plain>;
  static constexpr bool large = !plain && Case::m >= 256 && Case::n >= 256;
  static constexpr bool gathers =
      Case::a_width == 1 || Case::b_width == 1;  // element by element: more threads, fewer each
  static constexpr int threads = plain || large || gathers ? 256 : 128;
  static constexpr int rows = large ? 128 : 64, columns = large ? 128 : 64;
  static constexpr int depth = Tile::per == 2 ? 32 : 16;
  static constexpr int tiles =
      blocks_for(Case::m, rows) * blocks_for(Case::n, columns) * Case::groups;  // for one slice
};

/// Maxima of the operands, if they are scaled; stored at the beginning of the workspace.
template <class Case> struct PeaksOf {
  static constexpr int all = Case::all_slices < 1 ? 1 : Case::all_slices;
  static constexpr int a_slices = Case::grows == Extent::N ? 1 : all, b_slices = Case::grows == Extent::M ? 1 : all;
  static constexpr int a_each = slots_for(Case::a_count, a_slices), b_each = slots_for(Case::b_count, b_slices);
  static constexpr long b_at = (long{a_slices} * a_each + 7) / 8 * 8, slots = b_at + long{b_slices} * b_each;
  static constexpr long bytes =
      tensor::scaled<typename Case::T> ? (slots * static_cast<long>(sizeof(std::uint16_t)) + 255) / 256 * 256 : 0;
};

/// How many sums of a slice's C fit into the workspace.
template <class Case, class A> constexpr long room(long room_bytes) {
  return room_bytes / (long{Case::groups} * Case::m * Case::n * static_cast<long>(sizeof(A)));
}
/// Whether a slice's C is too small to fill a device although its sums are long.
template <class Case, class Tile, class A> constexpr bool small(long room_bytes) {
  using B = Blocking<Case, Tile>;
  return B::tiles < 132 && Case::k / 2 >= 4 * B::depth && room<Case, A>(room_bytes) >= 2;
}
/// Number of parts into which k is then split. The parts of all micro-batches fit into the workspace, so the number,
/// and every bit, does not depend on how many of them a rank has.
template <class Case, class Tile, class A> constexpr int splits(long room_bytes) {
  using B = Blocking<Case, Tile>;
  constexpr long all = Case::all_slices < 1 ? 1 : Case::all_slices;
  int s = 1;
  while (B::tiles * s < 132 && Case::k / (2 * s) >= 4 * B::depth && 2 * s * all <= room<Case, A>(room_bytes)) {
    s *= 2;
  }
  return s;
}

}  // namespace cleave::backend::gpu
