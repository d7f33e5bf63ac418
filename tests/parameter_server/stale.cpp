// parameter_server/stale.cpp - stale gradients diverge at a high rate, and every remedy that a plan can name prevents it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave.hpp>

#include <numeric>

#include "../train/signs.hpp"

using namespace cleave;

namespace {

// A quadratic. Steepest descent on it, at rate r and greatest curvature c, is stable with gradients a updates old only
// below r c = 2 sin(pi / (4 a + 2)): 2 for fresh ones, 0.21 for those that are 7 old.
struct Line : Sequential<Vector<4>, Linear<2>, MeanSquaredError> {};
template <class... Ps> struct With : Plan<Line, Batch<16>, Sgd, DataParallel<Ps...>> {};
constexpr float high = 0.8f;

/// The mean loss of the last tenth of 1500 gradients of so many replicas, all as fast as each other.
template <class P> double late(int replicas) {
  Served<P> t(replicas, 7);
  t.set_rate(Rate::constant(high));
  t.before_push = [](int, long, int) { std::this_thread::sleep_for(std::chrono::microseconds(300)); };
  auto const& losses = t.train(0, 1500, signs::feed<P>());
  return std::accumulate(losses.end() - 150, losses.end(), 0.0) / 150;
}

}  // namespace

TEST_CASE("eight asynchronous replicas diverge where one learns; each remedy prevents it") {
  CHECK(late<With<Async>>(1) < 0.2);
  CHECK_THROWS_WITH_AS(late<With<Async>>(8), doctest::Contains("is not finite at step"), Error);
  CHECK(late<With<Async, Stale<Damp>>>(8) < 0.2);
  CHECK(late<With<Async, Stale<ScaleRate<10>>>>(8) < 0.2);
  CHECK(late<With<Async, Stale<Drop<1>>>>(8) < 0.2);
  CHECK(late<With<StaleSynchronous<1>, Stale<Drop<1>>>>(8) < 0.2);
}
