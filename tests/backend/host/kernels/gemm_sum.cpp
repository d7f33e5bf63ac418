// backend/host/kernels/gemm_sum.cpp - a sum over slices in tiles: the bits of one slice after the other, and their merging.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>

#include <cleave/backend/host/kernels/gemm_sum.hpp>
#include <cleave/schedule/slices.hpp>

#include "../compare.hpp"

namespace {

using namespace test;
using schedule::TreeSum;

/// What lies side by side, `from` slices in, in a batch of `all`; `few` branches lie apart from the others.
struct Slices {
  int from, count, all;
  bool ordered = true, rounded = false;
  int few = 2;
};

template <class E, long M, long N, long K, class T> void check(Slices const& s) {
  CAPTURE(M);
  CAPTURE(N);
  CAPTURE(K);
  CAPTURE(s.from);
  CAPTURE(s.count);
  constexpr int most = 12;
  long const steps = K * (s.from + s.count);
  auto const x = numbers<T>(M * steps, 1), dy = numbers<T>(N * steps, 2);
  Workspace const space;
  on_every_isa([&] {
    auto wanted = poisoned<E>(most * M * N), got = wanted;
    TreeSum tree{s.all};
    int depth = 0;
    auto const at = [](std::vector<E>& v, int p) { return v.data() + p * M * N; };
    auto const round = [&](E* c) {
      for (long e = 0; s.rounded && e < M * N; ++e) c[e] = static_cast<E>(static_cast<T>(c[e]));
    };
    host::Branches<E> to{};
    to.dw0 = {got.data(), got.data() + s.few * M * N, M * N, M * N, s.few};
    to.rounded = s.rounded;
    for (int i = 0; i < s.from + s.count; ++i) {
      if (i == s.from) {  // what is there before
        got = wanted;
        to.dw0.first = got.data();
        to.dw0.other = got.data() + s.few * M * N;
        to.depth = s.ordered ? tree.depth : depth;
      }
      int const p = s.ordered ? tree.depth : depth;
      REQUIRE(p < most);
      host::gemm<E, M, N, K>(space.bytes, host::columns<M>(x.data() + i * K * M, tensor::Factor<T>{}),
                             host::columns<N>(dy.data() + i * K * N, tensor::Factor<T>{}),
                             host::Store<E>{at(wanted, p), N});
      round(at(wanted, p));
      int merges = 0;
      auto const add = [&](int a, int b) {
        for (long e = 0; e < M * N; ++e) at(wanted, a)[e] += at(wanted, b)[e];
        round(at(wanted, a));
        ++merges;
      };
      if (s.ordered) {
        tree.push({i, 1}, add);
      } else if (i > 0) {
        add(0, 1);
      }
      depth = 1;
      if (i >= s.from) REQUIRE(to.push(merges));
    }
    host::gemm_sum<E, M, N, K, T>(space.bytes, host::columns<M>(x.data() + s.from * K * M, tensor::Factor<T>{}),
                                  host::columns<N>(dy.data() + s.from * K * N, tensor::Factor<T>{}), to, s.count);
    long const there = (s.ordered ? tree.depth : 1) * M * N;
    CHECK(std::equal(got.begin(), got.begin() + there, wanted.begin()));
  });
}

}  // namespace

TEST_CASE("a sum over slices has the bits of its products, merged in the order of the tree") {
  check<f32, 37, 75, 8, f32>({0, 8, 8});
  check<f32, 37, 75, 8, f32>({0, 1, 8});
  check<f32, 64, 10, 3, f32>({0, 5, 12});
  check<f32, 100, 130, 2, f32>({0, 6, 6});
  check<f64, 37, 75, 5, f64>({0, 7, 8});
  check<f32, 300, 40, 1, f32>({0, 4, 4});
  check<f32, 1, 512, 100, f32>({0, 4, 4});  // wide tiles of few rows, of which few slices fit
  check<f32, 2, 1024, 128, f32>({0, 3, 4});
}

TEST_CASE("it goes on with the branches that are there, and leaves those that have no sibling") {
  check<f32, 37, 75, 8, f32>({3, 5, 8});
  check<f32, 37, 75, 8, f32>({5, 3, 12});
  check<f32, 37, 75, 8, f32>({6, 9, 16, true, false, 1});
  check<f32, 20, 33, 4, f32>({7, 1, 8, true, false, 1});
}

TEST_CASE("more slices than are packed at once, and more rows") {
  check<f32, 12, 70, 64, f32>({0, 7, 7});
  check<f32, 12, 70, 4, f32>({1, 30, 31});
  check<f32, 2500, 200, 32, f32>({0, 4, 4});
}

TEST_CASE("without an order: one after the other") {
  check<f32, 37, 75, 8, f32>({0, 6, 6, false});
  check<f32, 37, 75, 8, f32>({4, 3, 12, false});
}

TEST_CASE("sums of narrow numbers, rounded at every merge or not") {
  check<f32, 37, 75, 8, bf16>({0, 8, 8, true, true});
  check<f32, 37, 75, 8, bf16>({3, 4, 8, true, true, 1});
  check<f32, 37, 75, 8, bf16>({0, 8, 8, false, false});
  check<f32, 37, 75, 8, tf32>({0, 8, 8});
}
