// backend/cuda/warpgroup.hpp - the instruction of a warpgroup's tensor cores, for devices of sm_90a.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

#include "../gpu/kernels/fragment.hpp"

namespace cleave::backend::cuda {

// Source: PTX ISA 9.0, "Asynchronous warpgroup level matrix instructions": wgmma.mma_async m64nNk16, both operands in
// shared memory in lines of 128 bytes with the 128-byte swizzle.

/// The descriptor of an operand. Along k, 8 lines of 128 bytes (8 rows) are followed by the next 8. Otherwise lines are
/// along the other extent, 64 elements in each, `Depth` lines (one for each k) before the next 64.
template <bool AlongK, int Depth> __device__ inline std::uint64_t operand(std::uint32_t at) {
  constexpr std::uint64_t next = AlongK ? 1 : Depth * 128 / 16;
  return (at & 0x3ffff) >> 4 | next << 16 | std::uint64_t{1024 / 16} << 32 | std::uint64_t{1} << 62;
}

// On a device without them no kernel that needs them is launched; see Machine::has_warpgroups().
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

inline constexpr bool has_warpgroups = true;
__device__ inline void share_with_products() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
__device__ inline void begin_multiplying() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ inline void commit_multiplied() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
/// Until at most N groups are not done. With 0 of them the sums d may be read, and not before.
template <int N, int E> __device__ inline void wait_multiplied(float (&d)[E]) {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(N) : "memory");
  if constexpr (N == 0) {
    CLEAVE_UNROLL
    for (int i = 0; i < E; ++i) asm volatile("" : "+f"(d[i])::"memory");
  }
}

#define CLEAVE_8(d, i)                                                                                        \
  "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), "+f"(d[i + 6]), \
      "+f"(d[i + 7])
#define CLEAVE_32(d, i) CLEAVE_8(d, i), CLEAVE_8(d, i + 8), CLEAVE_8(d, i + 16), CLEAVE_8(d, i + 24)
#define CLEAVE_NAMES_0                                                                                        \
  "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, " \
  "%23, %24, %25, %26, %27, %28, %29, %30, %31"
#define CLEAVE_NAMES_32                                                                                         \
  ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, " \
  "%53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define CLEAVE_NAMES_64                                                                                         \
  ", %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, %82, %83, %84, " \
  "%85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95"
#define CLEAVE_NAMES_96                                                                                              \
  ", %96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, %112, %113, %114, " \
  "%115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"
#define CLEAVE_WGMMA(N, TYPE, NAMES, A, B, ADD, TURN_A, TURN_B, ...)                                               \
  asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, " ADD ", 0;\nwgmma.mma_async.sync.aligned.m64n" N "k16.f32." TYPE \
               "." TYPE " {" NAMES "}, " A ", " B ", p, 1, 1, " TURN_A ", " TURN_B ";\n}"                          \
               : __VA_ARGS__                                                                                       \
               : "l"(a), "l"(b), "r"(add), "n"(turn_a), "n"(turn_b))
#define CLEAVE_WGMMA_OF(TYPE)                                                                                         \
  if constexpr (N == 64) {                                                                                            \
    CLEAVE_WGMMA("64", TYPE, CLEAVE_NAMES_0, "%32", "%33", "%34", "%35", "%36", CLEAVE_32(d, 0));                     \
  } else if constexpr (N == 128) {                                                                                    \
    CLEAVE_WGMMA("128", TYPE, CLEAVE_NAMES_0 CLEAVE_NAMES_32, "%64", "%65", "%66", "%67", "%68", CLEAVE_32(d, 0),     \
                 CLEAVE_32(d, 32));                                                                                   \
  } else {                                                                                                            \
    CLEAVE_WGMMA("256", TYPE, CLEAVE_NAMES_0 CLEAVE_NAMES_32 CLEAVE_NAMES_64 CLEAVE_NAMES_96, "%128", "%129", "%130", \
                 "%131", "%132", CLEAVE_32(d, 0), CLEAVE_32(d, 32), CLEAVE_32(d, 64), CLEAVE_32(d, 96));              \
  }

/// d (64, N) of a warpgroup = a (64, 16) b (16, N), or += that if `add`.
template <int N, bool AlongA, bool AlongB, class Half>
__device__ inline void multiply(gpu::HalfTile<Half>, float (&d)[N / 2], std::uint64_t a, std::uint64_t b, int add) {
  constexpr int turn_a = AlongA ? 0 : 1, turn_b = AlongB ? 0 : 1;
  static_assert(N == 64 || N == 128 || N == 256);
  if constexpr (std::is_same_v<Half, bf16>) {
    CLEAVE_WGMMA_OF("bf16");
  } else {
    CLEAVE_WGMMA_OF("f16");
  }
}

#undef CLEAVE_WGMMA_OF
#undef CLEAVE_WGMMA
#undef CLEAVE_NAMES_96
#undef CLEAVE_NAMES_64
#undef CLEAVE_NAMES_32
#undef CLEAVE_NAMES_0
#undef CLEAVE_32
#undef CLEAVE_8

#else

inline constexpr bool has_warpgroups = false;
__device__ inline void share_with_products() {}
__device__ inline void begin_multiplying() {}
__device__ inline void commit_multiplied() {}
template <int, int E> __device__ inline void wait_multiplied(float (&)[E]) {}
template <int N, bool, bool, class Tile>
__device__ inline void multiply(Tile, float (&)[N / 2], std::uint64_t, std::uint64_t, int) {
  __trap();
}

#endif

}  // namespace cleave::backend::cuda
