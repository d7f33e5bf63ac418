// backend/gpu/kernels/fragment.hpp - tiles that a warp's tensor cores multiply, and which lane holds which element.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

#include "../../../meta/host_device.hpp"
#include "../../../tensor/number.hpp"

namespace cleave::backend::gpu {

// Source: PTX ISA 8.x, section "Matrix fragments for mma.m16n8k16 with floating point type" and "mma.m16n8k8, .tf32".
// With g = lane / 4 and t = lane % 4:
//   d (16, 8): d[0], d[1] at (g, 2t), (g, 2t + 1); d[2], d[3] eight rows below.
//   a (16, K): register r holds row g + 8 (r % 2); its columns start at per * t + K/2 (r / 2).
//   b (K, 8): register r holds column g; its rows start at per * t + K/2 r.
// A register of 32 bits holds `per` elements, neighbours along k.

/// d (16, 8) f32 += a (16, 16) b (16, 8), both bf16 or both f16.
template <class Half> struct HalfTile {
  using element = Half;
  static constexpr int k = 16, per = 2;
  CLEAVE_HD static float value(std::uint32_t reg, int i) {
    return static_cast<float>(__builtin_bit_cast(Half, static_cast<std::uint16_t>(reg >> (16 * i))));
  }
  CLEAVE_HD static std::uint32_t of(Half const* at) {  // two neighbours, aligned to 4
    return *reinterpret_cast<std::uint32_t const*>(at);
  }
  template <class T> CLEAVE_HD static Half stored(T v) { return static_cast<Half>(static_cast<float>(v)); }
  CLEAVE_HD static Half stored(Half v) { return v; }
};
using Bf16Tile = HalfTile<bf16>;
using F16Tile = HalfTile<f16>;

/// d (16, 8) f32 += a (16, 8) tf32 b (8, 8) tf32: floats with 10 bits of fraction.
struct Tf32Tile {
  using element = float;
  static constexpr int k = 8, per = 1;
  CLEAVE_HD static float value(std::uint32_t reg, int) { return __builtin_bit_cast(float, reg & 0xffffe000u); }
  CLEAVE_HD static std::uint32_t of(float const* at) { return __builtin_bit_cast(std::uint32_t, *at); }
  CLEAVE_HD static float stored(float v) { return tf32::rounded(v); }  // as cvt.rna.tf32 does
  CLEAVE_HD static float stored(tf32 v) { return tf32::rounded(v.value); }
};

/// In the format of sums.
struct Plain {
  static constexpr int per = 1;
};

/// bf16, f16 and tf32 go through tensor cores, f32 and f64 through plain multiply-adds. What fp8 multiplies is exact in
/// bf16.
template <class T> struct TileOf { using is = Plain; };
template <> struct TileOf<bf16> { using is = Bf16Tile; };
template <> struct TileOf<f16> { using is = F16Tile; };
template <> struct TileOf<fp8> { using is = Bf16Tile; };
template <> struct TileOf<tf32> { using is = Tf32Tile; };
template <class T> using tile_of = typename TileOf<T>::is;

}  // namespace cleave::backend::gpu
