// backend/gpu/kernels/peaks.hpp - the largest magnitudes of scaled operands: one for each slice, one for a weight.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <type_traits>

#include "../../../tensor/factor.hpp"
#include "context.hpp"
#include "pack.hpp"

namespace cleave::backend::gpu {

/// Number of blocks for a slice, each of which stores a maximum. Max is order-independent, so blocks need no
/// synchronisation. All maxima together stay small.
constexpr int slots_for(long count, int slices) {
  int slots = 1;
  while (slots < 64 && slots * 4096L < count && slots * 2L * slices <= 16384) slots *= 2;
  return slots;
}
/// The largest magnitude of a slice, as `fp8::magnitude`. The slots are aligned to 16 bytes.
template <int Each> CLEAVE_HD std::uint32_t peak(std::uint16_t const* slots, int slice) {
  constexpr int W = Each < 8 ? Each : 8;
  std::uint32_t most = 0;
  CLEAVE_UNROLL
  for (int i = 0; i < Each; i += W) {
    auto const p = *reinterpret_cast<Pack<std::uint16_t, W> const*>(slots + slice * Each + i);
    CLEAVE_UNROLL
    for (int w = 0; w < W; ++w) most = p.v[w] > most ? p.v[w] : most;
  }
  return most;
}

/// Factors of a thread's packs of one operand; one for all if `Count` is 1.
template <class T, tensor::Role R, int Count> struct Factors {
  using One = tensor::Factor<T, R>;
  One of[Count];

  /// Pack x belongs to slice at(x).
  template <int Each, class At> CLEAVE_HD void measure(std::uint16_t const* slots, At const& at) {
    int before = at(0);
    of[0] = One(peak<Each>(slots, before));
    CLEAVE_UNROLL
    for (int x = 1; x < Count; ++x) {
      int const slice = at(x);
      of[x] = slice == before ? of[x - 1] : One(peak<Each>(slots, slice));
      before = slice;
    }
  }
  CLEAVE_HD One const& operator[](int x) const { return of[Count > 1 ? x : 0]; }
};

/// `slices` slices of `count` elements, and where their maxima are stored, `each` for a slice.
template <class T> struct Measured {
  T const* from;
  std::uint16_t* slots;
  long count;
  int each, slices;
};

/// Both operands of a product.
template <class T> struct Peaks {
  struct Args {
    Measured<T> a, b;
  };
  struct Largest {
    CLEAVE_HD static int join(int a, int b) { return b > a ? b : a; }
  };
  static constexpr int threads = 256, shared_bytes = threads / lanes * static_cast<int>(sizeof(int)), W = 8;
  static constexpr bool alone = false;

  template <class Ctx> CLEAVE_HD static void run(Ctx const& c, Args const& args) {
    int const of_a = args.a.slices * args.a.each;
    bool const is_a = c.block() < of_a;
    int const block = is_a ? c.block() : c.block() - of_a, each = is_a ? args.a.each : args.b.each;
    long const count = is_a ? args.a.count : args.b.count;
    T const* const from = (is_a ? args.a.from : args.b.from) + block / each * count;
    int most = 0;
    auto const see = [&](T v) { most = Largest::join(most, static_cast<int>(v.magnitude())); };
    for (long i = long{block % each} * threads + c.thread(); i < (count + W - 1) / W; i += long{each} * threads) {
      if ((i + 1) * W <= count) {
        auto const p = load<W>(from + i * W);
        CLEAVE_UNROLL
        for (int w = 0; w < W; ++w) see(p.v[w]);
      } else {
        for (long e = i * W; e < count; ++e) see(from[e]);
      }
    }
    most = over_block<Largest>(c, most, reinterpret_cast<int*>(c.shared()));
    if (c.thread() == 0) (is_a ? args.a.slots : args.b.slots)[block] = static_cast<std::uint16_t>(most);
  }
};

}  // namespace cleave::backend::gpu
