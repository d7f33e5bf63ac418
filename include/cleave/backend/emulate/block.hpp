// backend/emulate/block.hpp - runs a kernel's blocks on the host, their threads as fibers or as real threads.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pthread.h>

#include <cstring>
#include <deque>
#include <functional>
#include <numeric>
#include <thread>
#include <vector>

#include "../gpu/kernels/context.hpp"
#include "../gpu/kernels/fragment.hpp"
#include "fibers.hpp"

#if defined(__SANITIZE_THREAD__)
#define CLEAVE_EMULATE_THREADS
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define CLEAVE_EMULATE_THREADS
#endif
#endif

namespace cleave::backend::emulate {

/// Runs each thread of some blocks as a thread of the host. ThreadSanitizer then reports a missing barrier as a race.
class Threads {
 public:
  Threads(int threads, int blocks) : count_(threads * blocks) {}
  /// A POSIX barrier: std::barrier keeps its waiters in a pool shared by all barriers, which hides races.
  struct Meeting {
    pthread_barrier_t at;
    bool made = false;
    void make(int members) { made = pthread_barrier_init(&at, nullptr, static_cast<unsigned>(members)) == 0; }
    ~Meeting() {
      if (made) pthread_barrier_destroy(&at);
    }
  };
  void run(std::function<void(int)> const& body, Order&) const {
    std::vector<std::thread> all;
    for (int i = 0; i < count_; ++i) all.emplace_back([&, i] { body(i); });
    for (std::thread& t : all) t.join();
  }
  static void meet(Meeting& m, int) { pthread_barrier_wait(&m.at); }

 private:
  int count_;
};

/// Asynchronous work of a thread. Odd warps do it when they wait for it, even warps at once: the latest and the
/// earliest time that hardware may choose. So a missing wait or barrier gives wrong numbers.
class Deferred {
 public:
  void add(int thread, std::function<void()> work) {
    if (thread / gpu::lanes % 2 == 0) {
      work();
    } else {
      open_.push_back(std::move(work));
    }
  }
  void commit() {
    groups_.push_back(std::move(open_));
    open_.clear();
  }
  void wait(std::size_t but) {
    for (; groups_.size() > but; groups_.pop_front()) {
      for (auto const& work : groups_.front()) work();
    }
  }

 private:
  std::vector<std::function<void()>> open_;
  std::deque<std::vector<std::function<void()>>> groups_;
};

/// One block: the shared memory of its threads, and their barriers.
template <class Runner> struct Block {
  int threads, blocks, block = 0;
  std::vector<std::byte> shared;
  std::vector<std::uint64_t> exchange;  // for each thread: a word that others of its warp read, then fragments
  typename Runner::Meeting all;
  std::vector<typename Runner::Meeting> warp;
  std::vector<Deferred> copies, products;  // of each thread
  Runner* runner = nullptr;
  static constexpr int words = 8;
  static constexpr std::size_t boundary = 1024;

  Block(int threads_, int blocks_, std::size_t shared_bytes)
      : threads(threads_),
        blocks(blocks_),
        shared(shared_bytes + boundary),
        exchange(static_cast<std::size_t>(threads_ * words)),
        warp(static_cast<std::size_t>((threads_ + gpu::lanes - 1) / gpu::lanes)),
        copies(static_cast<std::size_t>(threads_)),
        products(static_cast<std::size_t>(threads_)) {
    if constexpr (std::is_same_v<Runner, Threads>) {
      all.make(threads);
      for (std::size_t w = 0; w < warp.size(); ++w) warp[w].make(in_warp(w));
    }
  }
  int in_warp(std::size_t w) const {
    int const rest = threads - static_cast<int>(w) * gpu::lanes;
    return rest < gpu::lanes ? rest : gpu::lanes;
  }
  std::byte* shared_at() {
    auto const at = reinterpret_cast<std::uintptr_t>(shared.data());
    return shared.data() + (boundary - at % boundary) % boundary;
  }
};

/// The context that an emulated kernel receives. See gpu/kernels/context.hpp.
template <class Runner> struct Context {
  Block<Runner>* of;
  int thread_;

  int thread() const { return thread_; }
  int threads() const { return of->threads; }
  int block() const { return of->block; }
  int blocks() const { return of->blocks; }
  std::byte* shared() const { return of->shared_at(); }
  void barrier() const { of->runner->meet(of->all, of->threads); }
  void warp_barrier() const {
    auto const w = static_cast<std::size_t>(thread_ / gpu::lanes);
    of->runner->meet(of->warp[w], of->in_warp(w));
  }
  template <class F> void each(long n, F const& f) const {
    long const step = long{threads()} * blocks();
    for (long i = long{block()} * threads() + thread_; i < n; i += step) f(i);
  }
  template <class V> V shuffle_xor(V v, int mask) const {
    static_assert(sizeof(V) <= 8);
    std::memcpy(slot(thread_), &v, sizeof(V));
    warp_barrier();
    std::memcpy(&v, slot(thread_ ^ mask), sizeof(V));
    warp_barrier();
    return v;
  }
  /// A model of mma.sync: products in f32, summed in the order of k.
  template <class Tile>
  void multiply(Tile, float (&d)[4], std::uint32_t const (&a)[4], std::uint32_t const (&b)[2]) const {
    auto* mine = reinterpret_cast<std::uint32_t*>(slot(thread_));
    for (int i = 0; i < 4; ++i) mine[i] = a[i];
    for (int i = 0; i < 2; ++i) mine[4 + i] = b[i];
    warp_barrier();
    int const warp = thread_ / gpu::lanes * gpu::lanes, g = thread_ % gpu::lanes / 4, t = thread_ % 4;
    constexpr int half = Tile::k / 2;
    for (int i = 0; i < 4; ++i) {
      int const row = g + 8 * (i / 2), column = 2 * t + i % 2;
      for (int k = 0; k < Tile::k; ++k) {
        int const from = k % half / Tile::per, upper = k / half;
        auto const* of_a = reinterpret_cast<std::uint32_t const*>(slot(warp + row % 8 * 4 + from));
        auto const* of_b = reinterpret_cast<std::uint32_t const*>(slot(warp + column * 4 + from));
        d[i] += Tile::value(of_a[row / 8 + 2 * upper], k % Tile::per) * Tile::value(of_b[4 + upper], k % Tile::per);
      }
    }
    warp_barrier();
  }

  void copy_async(std::byte* to, void const* from, bool there) const {
    mine(of->copies).add(thread_, [=] {
      if (there) {
        std::memcpy(to, from, 16);
      } else {
        std::memset(to, 0, 16);
      }
    });
  }
  void commit_copies() const { mine(of->copies).commit(); }
  template <int N> void wait_copies() const { mine(of->copies).wait(N); }
  static void share_copies() {}
  static void begin_products() {}
  /// A model of wgmma on lines of 128 bytes: products in f32, summed in the order of k. Source: PTX ISA 9.0, "Shared
  /// memory matrix layout" and "Matrix fragments for wgmma.mma_async.m64nNk16".
  template <int N, bool AlongA, bool AlongB, int Depth, class Tile>
  void multiply_group(Tile, float (&d)[N / 2], std::byte const* a, std::byte const* b, bool add) const {
    using E = typename Tile::element;
    auto const element = [begin = shared()](std::byte const* operand, bool along, int line, int k) {
      auto at = static_cast<std::uintptr_t>(operand - begin);
      at += static_cast<std::uintptr_t>(along ? line * 128 + k * 2 : line / 64 * Depth * 128 + k * 128 + line % 64 * 2);
      E e;
      std::memcpy(&e, begin + (at ^ (at >> 7 & 7) << 4), sizeof e);
      return static_cast<float>(e);
    };
    mine(of->products).add(thread_, [=, sums = &d[0], thread = thread_ % 128] {
      for (int v = 0; v < N / 2; ++v) {
        int const row = thread / 32 * 16 + thread % 32 / 4 + v / 2 % 2 * 8, column = v / 4 * 8 + thread % 4 * 2 + v % 2;
        float sum = add ? sums[v] : 0;
        for (int k = 0; k < 16; ++k) sum += element(a, AlongA, row, k) * element(b, AlongB, column, k);
        sums[v] = sum;
      }
    });
  }
  void commit_products() const { mine(of->products).commit(); }
  template <int N, int E> void wait_products(float (&)[E]) const { mine(of->products).wait(N); }

 private:
  Deferred& mine(std::vector<Deferred>& all) const { return all[static_cast<std::size_t>(thread_)]; }
  std::uint64_t* slot(int thread) const {
    return of->exchange.data() + static_cast<std::size_t>(thread * Block<Runner>::words);
  }
};

#if defined(CLEAVE_EMULATE_THREADS)
using Usual = Threads;  // ThreadSanitizer knows no fibers
#else
using Usual = Fibers;
#endif

/// A kernel by what running it takes, so that only its own code is compiled for each.
template <class Runner> struct Launched {
  int threads;
  std::size_t shared_bytes;
  bool alone;  // its threads do not synchronise, and run one after another
  void (*run)(Context<Runner> const&, void const* args);

  template <class K> static constexpr Launched of() {
    return {K::threads, static_cast<std::size_t>(K::shared_bytes), K::alone,
            [](Context<Runner> const& c, void const* args) { K::run(c, *static_cast<typename K::Args const*>(args)); }};
  }
  /// Runs it on `blocks` blocks, in an order drawn from `order`. Up to three blocks run concurrently if their threads
  /// synchronise, one otherwise: a kernel must rely neither on another block running nor on its having ended. Shared
  /// memory starts as garbage that differs from block to block.
  void on(int blocks, void const* args, Order& order) const {
    constexpr int most_at_once = 3;
    std::vector<int> next(static_cast<std::size_t>(blocks));
    std::iota(next.begin(), next.end(), 0);
    for (std::size_t i = next.size(); i > 1; --i) std::swap(next[i - 1], next[order.draw(i)]);

    std::deque<Block<Runner>> alive;
    int const room = alone ? 1 : blocks < most_at_once ? blocks : most_at_once;
    for (int b = 0; b < room; ++b) alive.emplace_back(threads, blocks, shared_bytes);
    for (std::size_t first = 0; first < next.size();) {
      std::size_t const left = next.size() - first, most = left < alive.size() ? left : alive.size(),
                        count = 1 + order.draw(most);
      Runner runner(threads, static_cast<int>(count));
      for (std::size_t b = 0; b < count; ++b) {
        alive[b].block = next[first + b];
        alive[b].runner = &runner;
        std::memset(alive[b].shared.data(), 0xa5 + alive[b].block, alive[b].shared.size());
      }
      if (alone) {
        for (int t = 0; t < threads; ++t) run(Context<Runner>{&alive[0], t}, args);
      } else {
        runner.run(
            [&](int t) {
              run(Context<Runner>{&alive[static_cast<std::size_t>(t / threads)], t % threads}, args);
            },
            order);
      }
      first += count;
    }
  }
};

template <class K, class Runner = Usual> void launch(int blocks, typename K::Args const& args, Order& order) {
  Launched<Runner>::template of<K>().on(blocks, &args, order);
}
template <class K, class Runner = Usual> void launch(int blocks, typename K::Args const& args) {
  Order order(0);
  launch<K, Runner>(blocks, args, order);
}

}  // namespace cleave::backend::emulate
