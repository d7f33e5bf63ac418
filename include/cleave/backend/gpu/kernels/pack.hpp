// backend/gpu/kernels/pack.hpp - loads and stores of neighbouring elements, 16 bytes an access, for memory-bound kernels.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <cstring>

#include "../../../meta/host_device.hpp"

namespace cleave::backend::gpu {

template <class T, int W> struct alignas(sizeof(T) * W) Pack { T v[W]; };

template <int W, class T> CLEAVE_HD bool on_boundary(T const* at) {
  return W == 1 || reinterpret_cast<std::uintptr_t>(at) % (sizeof(T) * W) == 0;
}
/// W neighbours in one access if they are aligned to their size; weights of odd layers may not be.
template <int W, class T> CLEAVE_HD Pack<T, W> load(T const* at) {
  if (on_boundary<W>(at)) return *reinterpret_cast<Pack<T, W> const*>(at);
  Pack<T, W> p;
  for (int i = 0; i < W; ++i) p.v[i] = at[i];
  return p;
}
/// Bytes in registers. nvcc splits a stored pack and joins only half of it again.
template <int Bytes> struct [[gnu::may_alias]] alignas(Bytes) Register { std::uint64_t v[Bytes / 8]; };

/// 8 neighbours of a 16-bit format, and two.
using Piece = Register<16>;
struct [[gnu::may_alias]] Pair {
  std::uint32_t v;
};
template <class T> CLEAVE_HD std::uint64_t bits_of(T v) {
  static_assert(sizeof v == 2);
  std::uint16_t bits;
  memcpy(&bits, &v, sizeof bits);
  return bits;
}

template <int W, class T> CLEAVE_HD void store(T* at, Pack<T, W> const& p) {
  if (on_boundary<W>(at)) {
    if constexpr (sizeof p < 8) {
      *reinterpret_cast<Pack<T, W>*>(at) = p;
    } else {
      Register<sizeof p> all;
      if constexpr (sizeof(T) == 4) {
        std::uint32_t half[W];
        memcpy(half, &p, sizeof half);
        for (int i = 0; i < W / 2; ++i) all.v[i] = half[2 * i] | std::uint64_t{half[2 * i + 1]} << 32;
      } else {
        memcpy(&all, &p, sizeof all);
      }
      *reinterpret_cast<Register<sizeof p>*>(at) = all;
    }
    return;
  }
  for (int i = W - 1; i >= 0; --i) at[i] = p.v[i];
}

/// As many elements as fit into 16 bytes in the widest of some formats.
template <class T, class... Ts> constexpr int pack_of() {
  std::size_t widest = sizeof(T);
  ((widest = sizeof(Ts) > widest ? sizeof(Ts) : widest), ...);
  return static_cast<int>(16 / widest);
}
template <int W> struct Few { static constexpr int count = W; };

/// f(i, Few<W>) for neighbours i, i + 1, .., i + W - 1 that begin on a boundary of `lead`, f(i, Few<1>) for the rest at
/// either end: each of the n elements once, distributed as by c.each.
template <int W, class Ctx, class T, class F>
CLEAVE_HD void each_pack(Ctx const& c, long n, T const* lead, F const& f) {
  long const off = static_cast<long>(reinterpret_cast<std::uintptr_t>(lead) / sizeof(T) % W),
             to = off > 0 ? W - off : 0, head = to < n ? to : n, packs = (n - head) / W;
  c.each(packs, [&](long p) { f(head + p * W, Few<W>{}); });
  c.each(n - packs * W, [&](long r) { f(r < head ? r : r + packs * W, Few<1>{}); });
}

}  // namespace cleave::backend::gpu
