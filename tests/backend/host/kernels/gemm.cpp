// tests/backend/host/kernels/gemm.cpp - the blocked product: every way to read and store, adding, and bits that depend on K alone.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>

#include <cleave/backend/host/kernels/gemm.hpp>

#include "../compare.hpp"

namespace {

using namespace test;

/// Takes finished tiles instead of C, and counts what it is given.
template <class E, long N> struct Collect {
  static constexpr bool in_place = false, ends = true;
  static constexpr long stride = N;
  E* c;
  int* seen;
  template <class S> void done(E const* sum, long row, long i, long j, int rows, int columns) const {
    for (int r = 0; r < rows; ++r) {
      for (int e = 0; e < columns; ++e) {
        c[(i + r) * N + j + e] = sum[r * row + e];
        ++seen[(i + r) * N + j + e];
      }
    }
  }
};

/// A matrix that no one stores: it can only be packed.
template <class T, long K> struct Packed {
  T const* p;
  template <class S, class E, int Width> void pack(E* to, long first, int count, long k, long depth) const {
    for (long s = 0; s < depth; ++s) {
      for (int i = 0; i < Width; ++i) to[s * Width + i] = i < count ? static_cast<E>(p[(first + i) * K + k + s]) : E{0};
    }
  }
};

template <class T, int M, int N, int K> void check() {
  using E = tensor::accumulate_t<T>;
  CAPTURE(M);
  CAPTURE(N);
  CAPTURE(K);
  Workspace const space;
  auto const a = numbers<T>(long{M} * K, 1), b = numbers<T>(long{K} * N, 2);
  std::vector<T> at(a.size()), bt(b.size());
  std::vector<E> right(static_cast<std::size_t>(M) * N);
  for (int k = 0; k < K; ++k) {
    for (int i = 0; i < M; ++i) at[static_cast<std::size_t>(k * M + i)] = a[static_cast<std::size_t>(i * K + k)];
    for (int j = 0; j < N; ++j) bt[static_cast<std::size_t>(j * K + k)] = b[static_cast<std::size_t>(k * N + j)];
    for (int i = 0; i < M; ++i) {
      for (int j = 0; j < N; ++j) {
        right[static_cast<std::size_t>(i * N + j)] += static_cast<E>(a[static_cast<std::size_t>(i * K + k)]) *
                                                      static_cast<E>(b[static_cast<std::size_t>(k * N + j)]);
      }
    }
  }
  tensor::Factor<T> const f{};
  on_every_isa([&] {
    host::Context const c = space;
    auto got = poisoned<E>(long{M} * N), tn = got, nt = got, kept = got;
    std::vector<int> seen(got.size());
    host::gemm<E, M, N, K>(c.workspace, host::rows<K>(a.data(), f), host::columns<N>(b.data(), f),
                           host::Store<E>{got.data(), N});
    CHECK(error(got, right, K) < 1);
    host::gemm<E, M, N, K>(c.workspace, host::columns<M>(at.data(), f), Packed<T, K>{bt.data()},
                           host::Store<E>{tn.data(), N});
    CHECK(got == tn);
    host::gemm<E, M, N, K>(c.workspace, host::rows<K>(a.data(), f), host::rows<K>(bt.data(), f),
                           Collect<E, N>{nt.data(), seen.data()});
    CHECK(got == nt);
    CHECK(seen == std::vector<int>(got.size(), 1));
    std::fill(kept.begin(), kept.end(), E{1});
    host::gemm<E, M, N, K, true>(c.workspace, host::rows<K>(a.data(), f), host::columns<N>(b.data(), f),
                                 host::Store<E>{kept.data(), N});
    for (E& e : kept) e -= 1;
    CHECK(error(kept, right, K) < 1);
    auto const row = poisoned<E>(N);
    std::vector<E> alone = row, last(got.end() - N, got.end());
    host::gemm<E, 1, N, K>(c.workspace, host::rows<K>(a.data() + long{M - 1} * K, f), host::columns<N>(b.data(), f),
                           host::Store<E>{alone.data(), N});
    CHECK(alone == last);
  });
}

}  // namespace

TEST_CASE("host gemm: small, odd and prime sizes") {
  check<f32, 1, 1, 1>();
  check<f32, 2, 3, 5>();
  check<f32, 20, 2, 7>();  // a vector stored behind the last column reaches over several rows
  check<f64, 12, 1, 5>();
  check<f32, 7, 17, 31>();
  check<f32, 13, 48, 64>();
  check<f64, 9, 33, 65>();
  check<bf16, 5, 31, 97>();
}

TEST_CASE("host gemm: few rows by columns that end within a vector are read where they lie, and not beyond the end") {
  check<f32, 1, 10, 64>();  // AddressSanitizer sees a read beyond the end
  check<f32, 3, 8, 1>();
  check<f32, 5, 9, 130>();
  check<f32, 16, 40, 700>();
  check<f32, 2, 17, 9001>();
  check<f64, 4, 13, 67>();
}

TEST_CASE("host gemm: some of the products of few columns that may lie one after the other, and nothing behind them") {
  constexpr int M = 9, N = 3, K = 41, most = 5, times = 2;
  Workspace const space;
  auto const a = numbers<f32>(long{most} * M * K, 1), b = numbers<f32>(long{K} * N, 2);
  tensor::Factor<f32> const f{};
  on_every_isa([&] {
    host::Context const c = space;
    std::vector<float> got(most * M * N, 77), one(M * N);
    host::gemm<float, M, N, K, false, most>(c.workspace, host::rows<K>(a.data(), f), host::columns<N>(b.data(), f),
                                            host::Store<float>{got.data(), N}, times);
    for (int t = 0; t < most; ++t) {
      host::gemm<float, M, N, K>(c.workspace, host::rows<K>(a.data() + t * M * K, f), host::columns<N>(b.data(), f),
                                 host::Store<float>{one.data(), N});
      for (int e = 0; e < M * N; ++e)
        CHECK(got[static_cast<std::size_t>(t * M * N + e)] == (t < times ? one[static_cast<std::size_t>(e)] : 77.f));
    }
  });
}

TEST_CASE("host gemm: sums stay in their tiles up to a depth, and wait between blocks of k beyond it") {
  check<f32, 301, 83, 600>();
  check<f32, 301, 83, 2000>();
}

TEST_CASE("host gemm: several blocks of k, of rows, of columns") {
  check<f32, 65, 33, 1031>();
  check<f32, 601, 49, 300>();
  check<f64, 17, 129, 700>();
  check<bf16, 23, 1100, 513>();
}

TEST_CASE("host gemm: rows too long to be packed whole stay within the workspace") {
  constexpr int M = 8, N = 320, K = 36000;
  Workspace const space;
  auto const a = numbers<f32>(long{M} * K, 1), b = numbers<f32>(long{K} * N, 2);
  tensor::Factor<f32> const f{};
  on_every_isa([&] {
    host::Context const c = space;
    auto got = poisoned<float>(long{M} * N);
    host::gemm<float, M, N, K>(c.workspace, host::rows<K>(a.data(), f), host::columns<N>(b.data(), f),
                               host::Store<float>{got.data(), N});
    for (int j = 0; j < N; j += 37) {
      double sum = 0;
      for (int k = 0; k < K; ++k)
        sum += double{a[static_cast<std::size_t>(k)]} *
               double{b[static_cast<std::size_t>(k) * N + static_cast<std::size_t>(j)]};
      CHECK(std::abs(sum - double{got[static_cast<std::size_t>(j)]}) < 0.05);
    }
  });
}
