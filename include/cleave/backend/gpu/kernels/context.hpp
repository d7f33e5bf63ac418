// backend/gpu/kernels/context.hpp - the interface of the machine that a kernel runs on, and sums over threads that share a row.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <cstdint>

#include "../../../meta/host_device.hpp"

namespace cleave::backend::gpu {

// A kernel is a type: threads in a block, bytes of shared memory, and what each thread does.
//
//   struct Scale {
//     struct Args { float* x; long n; };
//     static constexpr int threads = 256, shared_bytes = 0;
//     static constexpr bool alone = true;  // its threads never synchronise: no barrier, no shuffle, nothing shared
//     template <class Ctx> CLEAVE_HD static void run(Ctx const& c, Args const& a) {
//       c.each(a.n, [&](long i) { a.x[i] *= 2; });
//     }
//   };
//
// clang-format off
// The context has
//   thread(), threads(), block(), blocks()   int
//   each(n, f)                               f(i) for every i below n, distributed over all threads of all blocks
//   barrier(), warp_barrier()                for all threads of the block, of the warp, without exception
//   shuffle_xor(v, mask)                     the v of lane ^ mask of this warp; all 32 lanes take part
//   shared()                                 shared_bytes, aligned to 16; to 1024 if they are more than 48 KiB
//   multiply(d, a, b)                        d += a b by tensor cores, in the fragments of mma.sync (fragment.hpp)
// and for warpgroups of 128 threads, asynchronously:
//   copy_async(to, from, there)              16 bytes to shared memory, or zeros; commit_copies() ends a group of copies
//   wait_copies<N>(), share_copies()         all groups of this thread but N are there; behind a barrier products may read them
//   multiply_group<N, AlongA, AlongB, Depth>(tile, d, a, b, add)
//                                            d (64, N) = or += a (64, 16) b (16, N), which lie in shared memory as pieces.hpp
//                                            says, along k or not, with Depth of k in a tile
//   begin_products(), commit_products()      before the first and behind the last product of a group
//   wait_products<N>(d)                      all groups of products but N are done; d may be read if N is 0
// clang-format on
// On a device it compiles to what one would write by hand (cuda/device.hpp). On the host the same code runs as the
// threads of a block (emulate/block.hpp), so that every kernel is compared with its definition, under AddressSanitizer
// and ThreadSanitizer, on machines without a GPU.

inline constexpr int lanes = 32;

struct Sum {
  template <class A> CLEAVE_HD static A join(A a, A b) { return a + b; }
};
struct Max {
  template <class A> CLEAVE_HD static A join(A a, A b) { return b > a || b != b ? b : a; }  // keeps a NaN
};

/// The value of another lane; values of two words are exchanged one word after the other.
template <class Ctx, class A> CLEAVE_HD A exchanged(Ctx const& c, A v, int mask) {
  if constexpr (sizeof(A) > 8) {
    return A{c.shuffle_xor(v.high, mask), c.shuffle_xor(v.low, mask)};
  } else {
    return c.shuffle_xor(v, mask);
  }
}
/// Reduces over the lanes of a warp in one fixed order; every lane gets the result.
template <class How, class Ctx, class A> CLEAVE_HD A over_warp(Ctx const& c, A v) {
  for (int mask = lanes / 2; mask > 0; mask /= 2) v = How::join(v, exchanged(c, v, mask));
  return v;
}

/// Reduces over all threads of a block. `line` is shared memory, one A per warp; a barrier precedes the next write to
/// it.
template <class How, class Ctx, class A> CLEAVE_HD A over_block(Ctx const& c, A v, A* line) {
  v = over_warp<How>(c, v);
  int const warps = c.threads() / lanes;
  if (warps == 1) return v;
  c.barrier();
  if (c.thread() % lanes == 0) line[c.thread() / lanes] = v;
  c.barrier();
  A all = line[0];
  for (int w = 1; w < warps; ++w) all = How::join(all, line[w]);
  return all;
}

/// The threads that share a row: a warp if rows are short, else a block. `Threads`: threads of the block.
template <bool Warp, int Threads> struct Team {
  static constexpr int size = Warp ? lanes : Threads;
  static constexpr int in_block = Threads / size;  // teams
  template <class Ctx> CLEAVE_HD static long row(Ctx const& c) {
    return long{c.block()} * in_block + c.thread() / size;
  }
  template <class Ctx> CLEAVE_HD static int member(Ctx const& c) { return c.thread() % size; }
  template <class How, class Ctx, class A> CLEAVE_HD static A over(Ctx const& c, A v) {
    if constexpr (Warp) {
      return over_warp<How>(c, v);
    } else {
      return over_block<How>(c, v, reinterpret_cast<A*>(c.shared()));
    }
  }
};
template <long Columns> using team_for = Team<Columns <= 1024, Columns <= 1024 ? 128 : 256>;

constexpr int blocks_for(long items, long each) {
  long const n = (items + each - 1) / each;
  return static_cast<int>(n < 1 ? 1 : n);
}
/// Number of blocks of 256 threads for element-wise work: enough to fill the largest device a few times.
inline constexpr int most_blocks = 4096;
constexpr int blocks_each(long n, int at_once = 1) {
  int const b = blocks_for(n, 256L * at_once);
  return b < most_blocks ? b : most_blocks;
}

}  // namespace cleave::backend::gpu
