// backend/host/kernels/update.cpp - a run of weights is stepped as each weight alone would be, in blocks and behind them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave/backend/host/kernels/update.hpp>
#include <cleave/optim/adaptive.hpp>
#include <cleave/optim/sgd.hpp>

#include "../compare.hpp"

using namespace cleave;
using backend::host::update;

namespace {
template <class O, class T, class G> void one_by_one(long n) {
  using A = tensor::accumulate_t<T>;
  auto w = test::numbers<A>(n, 1), alone = w, moments = test::numbers<A>(2 * n, 2);
  for (A& m : moments) m = m < 0 ? -m : m;  // a mean of squares is never negative
  auto moments_alone = moments;
  auto const g = test::numbers<G>(n, 3);
  std::vector<T> copy(static_cast<std::size_t>(n));
  optim::Now<A> now;
  now.rate = A(0.1);
  update<O, T>(w.data(), copy.data(), g.data(), moments.data(), n, n, now);
  for (std::size_t i = 0; i < w.size(); ++i) {
    O::template step<O, A>(alone[i], static_cast<A>(g[i]), moments_alone[i], moments_alone[i + w.size()], now);
    CHECK(w[i] == doctest::Approx(alone[i]));
    if (sizeof(T) < sizeof(A)) CHECK(static_cast<A>(copy[i]) == static_cast<A>(static_cast<T>(w[i])));
    if (O::moments > 0) CHECK(moments[i] == doctest::Approx(moments_alone[i]));
    if (O::moments > 1) CHECK(moments[i + w.size()] == doctest::Approx(moments_alone[i + w.size()]));
  }
}
}  // namespace

TEST_CASE("with no, one and two moments") {
  for (long n : {1L, 64L, 100L}) {
    one_by_one<Sgd, float, float>(n);
    one_by_one<Momentum, double, double>(n);
    one_by_one<Adam, float, float>(n);
  }
}
TEST_CASE("bf16: gradients as sent, the master in f32, the copy rounded from it") {
  one_by_one<Adam, bf16, bf16>(100);
  one_by_one<Momentum, bf16, float>(70);
}

TEST_CASE("by an outer product, to the bits of the same gradient from memory") {
  constexpr long rows = 7, columns = 80, n = rows * columns;
  auto const x = test::numbers<float>(rows, 1), dy = test::numbers<float>(columns, 2);
  auto w = test::numbers<float>(n, 3), stored = w;
  std::vector<float> g(n);
  for (std::size_t i = 0; i < g.size(); ++i) g[i] = x[i / columns] * dy[i % columns];
  optim::Now<float> now;
  now.rate = 0.1f;
  backend::host::OuterProduct<float, columns> const product{x.data(), dy.data()};
  update<Sgd, float>(w.data(), nullptr, product, nullptr, 0, n, now);
  update<Sgd, float>(stored.data(), nullptr, g.data(), nullptr, 0, n, now);
  CHECK(w == stored);
  auto const half = product + 3 * columns;
  update<Sgd, float>(w.data(), nullptr, half, nullptr, 0, 4 * columns, now);
  update<Sgd, float>(stored.data(), nullptr, g.data() + 3 * columns, nullptr, 0, 4 * columns, now);
  CHECK(w == stored);
}
