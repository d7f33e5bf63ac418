// backend/host/kernels/gemm_blocks.cpp - a product in blocks: the tree's sum of chains, for any rows, columns and path.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>

#include <cleave/backend/host/kernels/finish.hpp>
#include <cleave/backend/host/kernels/gemm_blocks.hpp>

#include "../compare.hpp"

namespace {

using namespace test;

/// Each block by a product of its own, and the pairs of the tree added.
template <class E, long M, long N, long K, int Blocks, class A, class B>
std::vector<E> one_by_one(std::byte* workspace, A a, B b, long times) {
  std::vector<std::vector<E>> sums;
  schedule::TreeSum tree{Blocks};
  for (int q = 0; q < Blocks; ++q) {
    std::vector<E>& c = sums.emplace_back(static_cast<std::size_t>(times * M * N));
    for (long t = 0; t < times; ++t) {
      host::gemm<E, M, N, K / Blocks>(workspace, host::From<A>{a, t * M, q * (K / Blocks)},
                                      host::From<B>{b, 0, q * (K / Blocks)},
                                      host::BlockSum<E>{{c.data() + t * M * N, N}});
    }
    tree.push({q, 1}, [&](int, int) {
      for (std::size_t e = 0; e < c.size(); ++e) sums[sums.size() - 2][e] += sums.back()[e];
      sums.pop_back();
    });
  }
  REQUIRE(sums.size() == 1);
  return sums[0];
}

template <class E, long N> auto stored(std::vector<E>& c) { return host::Finish<E, E, 1, false, void>{c.data(), N}; }

template <class E, long M, long N, long K, int Blocks, long Most = 1> void check(long times = 1) {
  CAPTURE(M);
  CAPTURE(N);
  CAPTURE(K);
  CAPTURE(Blocks);
  auto const x = numbers<E>(Most * M * K, 1), w = numbers<E>(K * N, 2);
  tensor::Factor<E> const f{};
  Workspace const space;
  on_every_isa([&] {
    auto const both = [&](auto b) {
      auto const a = host::rows<K>(x.data(), f);
      auto wanted = one_by_one<E, M, N, K, Blocks>(space.bytes, a, b, times);
      std::vector<E> got(wanted.size());
      host::gemm_in_blocks<E, M, N, K, Blocks, Most>(space.bytes, a, b, stored<E, N>(got), times);
      if constexpr (M > 1) {
        CHECK(got == wanted);
      } else {  // a lone row may have an order of its own within a block
        for (std::size_t e = 0; e < got.size(); ++e)
          CHECK(got[e] == doctest::Approx(wanted[e]).epsilon(sizeof(E) == 4 ? 1e-6 : 1e-15).scale(1));
      }
      return got;
    };
    both(host::columns<N>(w.data(), f));
    auto const all = both(host::rows<K>(w.data(), f));
    // The first columns alone have the bits that they have among the others.
    constexpr long part = N / 2 + 1;
    std::vector<E> some(static_cast<std::size_t>(times * M * part));
    host::gemm_in_blocks<E, M, part, K, Blocks, Most>(space.bytes, host::rows<K>(x.data(), f),
                                                      host::rows<K>(w.data(), f), stored<E, part>(some), times);
    bool same = true;
    for (long i = 0; i < times * M; ++i) {
      for (long j = 0; j < part; ++j)
        same = same && some[static_cast<std::size_t>(i * part + j)] == all[static_cast<std::size_t>(i * N + j)];
    }
    CHECK(same);
  });
}

}  // namespace

TEST_CASE("blocks in tiles, several products of few rows, and ones whose rows do not fill tiles") {
  check<f32, 32, 40, 64, 8>();
  check<f32, 17, 70, 60, 6>();
  check<f64, 20, 33, 48, 4>();
  check<f32, 7, 37, 24, 3, 5>(5);
  check<f32, 7, 37, 24, 3, 5>(2);
  check<f32, 300, 20, 512, 8>();
}
TEST_CASE("blocks that are too long for tiles, and parts of C") {
  check<f32, 3, 50, 60, 3>();
  check<f32, 20, 30, 4096, 2>();
  check<f32, 300, 700, 6400, 2>();
  check<f64, 5, 300, 2048, 64>();
}
TEST_CASE("one row") {
  check<f32, 1, 45, 64, 4>();
  check<f32, 1, 64, 48, 3>();
  check<f64, 1, 30, 64, 8>();
}
TEST_CASE("one row by one column has the bits that it has beside others") {
  constexpr long n = 20, k = 256;
  constexpr int blocks = 4;
  auto const x = numbers<f32>(k, 1), w = numbers<f32>(k * n, 2);
  tensor::Factor<f32> const f{};
  Workspace const space;
  on_every_isa([&] {
    std::vector<f32> all(n), one(1), column(k);
    host::gemm_in_blocks<f32, 1, n, k, blocks>(space.bytes, host::rows<k>(x.data(), f), host::columns<n>(w.data(), f),
                                               stored<f32, n>(all));
    for (std::size_t j = 0; j < n; ++j) {
      for (std::size_t i = 0; i < k; ++i) column[i] = w[i * n + j];
      host::gemm_in_blocks<f32, 1, 1, k, blocks>(space.bytes, host::rows<k>(x.data(), f),
                                                 host::columns<1>(column.data(), f), stored<f32, 1>(one));
      CHECK(one[0] == all[j]);
    }
  });
}
TEST_CASE("blocks whose terms lie in runs have the bits of those that lie together") {
  constexpr long n = 40, runs = 3, blocks = 4, length = 5, k = runs * blocks * length;
  auto const together = numbers<f32>(20 * k, 1), w = numbers<f32>(n * k, 2);
  auto const in_runs = [&](std::vector<f32> const& of, long lines) {
    std::vector<f32> to(of.size());
    for (long i = 0; i < lines; ++i) {
      for (long e = 0; e < k; ++e) {
        long const block = e / (runs * length), run = e / length % runs, at = e % length;
        to[static_cast<std::size_t>(i * k + run * blocks * length + block * length + at)] =
            of[static_cast<std::size_t>(i * k + e)];
      }
    }
    return to;
  };
  auto const x2 = in_runs(together, 20), w2 = in_runs(w, n);
  tensor::Factor<f32> const f{};
  Workspace const space;
  on_every_isa([&] {
    std::vector<f32> wanted(20 * n), got(20 * n);
    host::gemm_in_blocks<f32, 20, n, k, blocks>(space.bytes, host::rows<k>(together.data(), f),
                                                host::rows<k>(w.data(), f), stored<f32, n>(wanted));
    host::gemm_in_blocks<f32, 20, n, k, blocks>(space.bytes, host::rows_in_runs<k, runs, blocks>(x2.data(), f),
                                                host::rows_in_runs<k, runs, blocks>(w2.data(), f), stored<f32, n>(got));
    CHECK(got == wanted);
    std::vector<f32> long_wanted(3 * n), long_got(3 * n);
    host::gemm_in_blocks<f32, 3, n, k, blocks>(space.bytes, host::rows<k>(together.data(), f),
                                               host::rows<k>(w.data(), f), stored<f32, n>(long_wanted));
    host::gemm_in_blocks<f32, 3, n, k, blocks>(space.bytes, host::rows_in_runs<k, runs, blocks>(x2.data(), f),
                                               host::rows_in_runs<k, runs, blocks>(w2.data(), f),
                                               stored<f32, n>(long_got));
    CHECK(long_got == long_wanted);
  });
}
