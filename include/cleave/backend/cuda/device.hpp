// backend/cuda/device.hpp - the context of a kernel on a CUDA device: built-in variables and single instructions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#if !defined(__CUDACC__)
#error "cleave/backend/cuda is for .cu files: compile this one with nvcc -std=c++20 (CMake: enable_language(CUDA))"
#endif

#include "../gpu/kernels/context.hpp"
#include "../gpu/kernels/fragment.hpp"
#include "warpgroup.hpp"

namespace cleave::backend::cuda {

/// See gpu/kernels/context.hpp.
template <int Threads> struct Context {
  std::byte* shared_;

  __device__ int thread() const { return static_cast<int>(threadIdx.x); }
  __device__ static constexpr int threads() { return Threads; }
  __device__ int block() const { return static_cast<int>(blockIdx.x); }
  __device__ int blocks() const { return static_cast<int>(gridDim.x); }
  __device__ std::byte* shared() const { return shared_; }
  __device__ void barrier() const { __syncthreads(); }
  __device__ void warp_barrier() const { __syncwarp(); }
  template <class F> __device__ void each(long n, F const& f) const {
    long const step = long{Threads} * gridDim.x;
    for (long i = long{blockIdx.x} * Threads + threadIdx.x; i < n; i += step) f(i);
  }
  template <class V> __device__ V shuffle_xor(V v, int mask) const { return __shfl_xor_sync(0xffffffffu, v, mask); }
  __device__ void multiply(gpu::Bf16Tile, float (&d)[4], std::uint32_t const (&a)[4],
                           std::uint32_t const (&b)[2]) const {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, "
        "%2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  }
  __device__ void multiply(gpu::F16Tile, float (&d)[4], std::uint32_t const (&a)[4],
                           std::uint32_t const (&b)[2]) const {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, "
        "%2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  }
  __device__ void multiply(gpu::Tf32Tile, float (&d)[4], std::uint32_t const (&a)[4],
                           std::uint32_t const (&b)[2]) const {
    asm volatile(
        "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, "
        "%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  }

  __device__ void copy_async(std::byte* to, void const* from, bool there) const {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(to)), "l"(from),
                 "r"(there ? 16 : 0)
                 : "memory");
  }
  __device__ void commit_copies() const { asm volatile("cp.async.commit_group;" ::: "memory"); }
  template <int N> __device__ void wait_copies() const { asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory"); }
  __device__ void share_copies() const { share_with_products(); }
  template <int N, bool AlongA, bool AlongB, int Depth, class Tile>
  __device__ void multiply_group(Tile tile, float (&d)[N / 2], std::byte const* a, std::byte const* b, bool add) const {
    cuda::multiply<N, AlongA, AlongB>(tile, d, operand<AlongA, Depth>(shared_address(a)),
                                      operand<AlongB, Depth>(shared_address(b)), add);
  }
  __device__ void begin_products() const { begin_multiplying(); }
  __device__ void commit_products() const { commit_multiplied(); }
  template <int N, int E> __device__ void wait_products(float (&d)[E]) const { wait_multiplied<N>(d); }

 private:
  __device__ static std::uint32_t shared_address(void const* p) {
    return static_cast<std::uint32_t>(__cvta_generic_to_shared(p));
  }
};

/// Blocks of K for which a multiprocessor must have registers at a time.
template <class K> constexpr int resident_blocks() {
  if constexpr (requires { K::resident_blocks; }) return K::resident_blocks;
  return 1;
}
template <class K> inline constexpr bool needs_warpgroups = requires { requires K::by_warpgroups; };
/// What a block may share without asking. More is dynamic, begins on a boundary of 1024 bytes, and is asked for at
/// launch.
inline constexpr int static_shared_bytes = 48 << 10;

/// The one __global__ function: kernel K, named in profiles by its type.
template <class K>
__global__ void __launch_bounds__(K::threads, resident_blocks<K>())
    entry(__grid_constant__ typename K::Args const args) {
  if constexpr (needs_warpgroups<K> && !has_warpgroups) {
    __trap();
  } else if constexpr (K::shared_bytes > static_shared_bytes) {
    extern __shared__ __align__(1024) std::byte dynamic_shared[];
    K::run(Context<K::threads>{dynamic_shared}, args);
  } else if constexpr (K::shared_bytes > 0) {
    __shared__ alignas(16) std::byte shared[K::shared_bytes];
    K::run(Context<K::threads>{shared}, args);
  } else {
    K::run(Context<K::threads>{nullptr}, args);
  }
}

}  // namespace cleave::backend::cuda
