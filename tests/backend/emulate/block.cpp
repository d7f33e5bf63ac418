// backend/emulate/block.cpp - the threads of a block: barriers, shuffles, shared memory, and what stands still.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>

#include <cleave/backend/emulate/block.hpp>

#include <set>
#include <vector>

using namespace cleave;
using namespace cleave::backend;

namespace {

/// y (blocks): the sum of each block's part of x.
struct Add {
  struct Args {
    double const* x;
    double* y;
  };
  static constexpr int threads = 96, shared_bytes = 32 * 8;
  static constexpr bool alone = false;
  template <class Ctx> static void run(Ctx const& c, Args const& a) {
    double const sum =
        gpu::over_block<gpu::Sum>(c, a.x[c.block() * threads + c.thread()], reinterpret_cast<double*>(c.shared()));
    if (c.thread() == 95) a.y[c.block()] = sum;
  }
};
template <class Runner> void sums() {
  std::vector<double> x(96 * 5), y(5, -1);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<double>(i);
  emulate::launch<Add, Runner>(5, {x.data(), y.data()});
  for (int b = 0; b < 5; ++b) CHECK(y[static_cast<std::size_t>(b)] == 96 * 96 * b + 95 * 48);
}

/// Half of the block comes to a barrier, the other half has gone.
struct Half {
  struct Args {};
  [[maybe_unused]] static constexpr int threads = 64, shared_bytes = 0;
  [[maybe_unused]] static constexpr bool alone = false;
  template <class Ctx> static void run(Ctx const& c, Args const&) {
    if (c.thread() % 2 == 0) c.barrier();
  }
};
struct Throws : Half {
  template <class Ctx> static void run(Ctx const& c, Args const&) {
    if (c.thread() == 7) throw Error("thread 7");
    c.barrier();
  }
};
struct Where {
  struct Args {
    int* count;
    long n;
  };
  static constexpr int threads = 32, shared_bytes = 0;
  static constexpr bool alone = true;
  template <class Ctx> static void run(Ctx const& c, Args const& a) {
    c.each(a.n, [&](long i) { ++a.count[i]; });
  }
};

/// Each block writes its number beside those that came before it: an order of blocks.
struct Came {
  struct Args {
    int* count;
    int* order;
  };
  static constexpr int threads = 32, shared_bytes = 0;
  static constexpr bool alone = true;
  template <class Ctx> static void run(Ctx const& c, Args const& a) {
    if (c.thread() == 0) a.order[(*a.count)++] = c.block();
  }
};
/// Writes what it finds beside what the block before it leaves behind a barrier: a race between blocks.
struct Hasty {
  struct Args {
    int* left;   // by each block
    int* found;  // of the block before
  };
  [[maybe_unused]] static constexpr int threads = 64, shared_bytes = 4;
  [[maybe_unused]] static constexpr bool alone = false;
  template <class Ctx> static void run(Ctx const& c, Args const& a) {
    c.barrier();
    if (c.thread() == 0) a.found[c.block()] = c.block() > 0 ? a.left[c.block() - 1] : 0;
    c.barrier();
    if (c.thread() == 0) a.left[c.block()] = 1;
  }
};

}  // namespace

TEST_CASE("blocks run in any order, and the same seed gives the same") {
  std::set<std::vector<int>> orders;
  for (std::uint64_t of = 0; of < 100; ++of) {
    std::vector<int> order(3), again(3);
    for (auto* to : {&order, &again}) {
      emulate::Order draw(of);
      int count = 0;
      emulate::launch<Came>(3, {&count, to->data()}, draw);
    }
    CHECK(order == again);
    orders.insert(order);
  }
  CHECK(orders.size() == 6);
}
#if !defined(CLEAVE_EMULATE_THREADS)
TEST_CASE("several blocks are alive at once: one that reads what another writes finds it, or does not") {
  std::set<std::vector<int>> outcomes;
  for (std::uint64_t of = 0; of < 200; ++of) {
    std::vector<int> left(3, 0), found(3, 0);
    emulate::Order draw(of);
    emulate::launch<Hasty, emulate::Fibers>(3, {left.data(), found.data()}, draw);
    outcomes.insert(found);
  }
  CHECK(outcomes.size() == 4);  // each of two blocks finds it or not
}
#endif
TEST_CASE("a block's sum, by fibers and by threads") {
#if !defined(CLEAVE_EMULATE_THREADS)
  sums<emulate::Fibers>();
#endif
  sums<emulate::Threads>();
}
#if !defined(CLEAVE_EMULATE_THREADS)
TEST_CASE("a barrier that half of a block never reaches is told, with numbers") {
  CHECK_THROWS_WITH_AS((emulate::launch<Half, emulate::Fibers>(1, {})),
                       doctest::Contains("32 of 64 threads have ended"), Error);
  CHECK_THROWS_WITH_AS((emulate::launch<Throws, emulate::Fibers>(1, {})), "thread 7", Error);
}
#endif
TEST_CASE("each deals every index out once") {
  for (long n : {0L, 1L, 31L, 64L, 1000L}) {
    std::vector<int> count(static_cast<std::size_t>(n + 1), 0);
    emulate::launch<Where>(3, {count.data(), n});
    for (long i = 0; i < n; ++i) CHECK(count[static_cast<std::size_t>(i)] == 1);
    CHECK(count.back() == 0);
  }
}
TEST_CASE("a NaN stays one in a maximum") {
  CHECK(gpu::Max::join(1.0, 2.0) == 2.0);
  double const nan = 0.0 / static_cast<double>(0);
  CHECK(gpu::Max::join(1.0, nan) != gpu::Max::join(1.0, nan));
}
