// backend/host/kernels/simd.hpp - the instruction sets a host kernel is built for, and the choice among them at run time.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "../../../tensor/factor.hpp"

namespace cleave::backend::host {

enum class Isa : unsigned char { Baseline, Avx2, Avx512 };

/// The instruction set that the build allows: with -march=... the kernels below it are never compiled.
#if defined(__AVX512F__) && defined(__AVX512VL__) && defined(__AVX512BW__) && defined(__AVX512DQ__)
inline constexpr Isa built_for = Isa::Avx512;
#elif defined(__AVX2__) && defined(__FMA__)
inline constexpr Isa built_for = Isa::Avx2;
#else
inline constexpr Isa built_for = Isa::Baseline;
#endif

/// The instruction set of this machine.
inline Isa best_isa() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq")) {
    return Isa::Avx512;
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return Isa::Avx2;
#endif
  return Isa::Baseline;
}

/// The instruction set that kernels use. A test may lower it; every value between `built_for` and `best_isa` is valid.
inline Isa& isa() {
  static Isa chosen = best_isa();
  return chosen;
}

}  // namespace cleave::backend::host

// The same text is compiled once for each instruction set: compilers lower a generic vector to the set of the function
// it is written in, before any inlining, so each set needs separate functions. Neither compiler lets an attribute
// depend on a template.
#ifdef __CUDACC__
#pragma nv_diag_suppress 1675
#endif

#if defined(__x86_64__)
namespace cleave::backend::host::avx512 {
inline constexpr int vector_bytes = 64, registers = 32;
#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx512f,avx512vl,avx512bw,avx512dq,avx2,fma"))), \
                             apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx512f,avx512vl,avx512bw,avx512dq,avx2,fma")
#endif
#include "lanes.inc"
#ifdef __clang__
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
}  // namespace cleave::backend::host::avx512

namespace cleave::backend::host::avx2 {
inline constexpr int vector_bytes = 32, registers = 16;
#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma")
#endif
#include "lanes.inc"
#ifdef __clang__
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
}  // namespace cleave::backend::host::avx2
#endif

namespace cleave::backend::host::baseline {
inline constexpr int vector_bytes = 16, registers = 16;
#include "lanes.inc"
}  // namespace cleave::backend::host::baseline

namespace cleave::backend::host {

/// Calls f with the `Simd` of the instruction set in use.
template <class F> void with_simd(F f) {
#if defined(__x86_64__)
  if constexpr (built_for == Isa::Avx512) {
    f(avx512::Simd{});
  } else if (isa() == Isa::Avx512) {
    f(avx512::Simd{});
  } else if (built_for == Isa::Avx2 || isa() == Isa::Avx2) {
    f(avx2::Simd{});
  } else if constexpr (built_for == Isa::Baseline) {
    f(baseline::Simd{});
  }
#else
  f(baseline::Simd{});
#endif
}

}  // namespace cleave::backend::host
