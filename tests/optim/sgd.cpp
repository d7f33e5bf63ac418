// optim/sgd.cpp - three steps of each, against the formulas written out.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>

#include <cleave/optim/sgd.hpp>
#include <initializer_list>

using namespace cleave;

namespace {
template <class O> double after(std::initializer_list<double> gradients) {
  double w = 1, m0 = 0, m1 = 0;
  optim::Now<double> now;
  now.rate = 0.1;
  for (double g : gradients) O::template step<O, double>(w, g, m0, m1, now);
  return w;
}
struct Decayed : Sgd {
  static constexpr float weight_decay = 0.5f;
};
struct Derived : Sgd {};
struct Own : Sgd {
  template <class P, class A> static void step(A& w, A g, A&, A&, optim::Now<A> const&) { w = w - g; }
};
}  // namespace

// Of the optimizers whose gradients need not be stored.
static_assert(optim::is_plain_sgd<Sgd, float> && optim::is_plain_sgd<Derived, double>);
static_assert(!optim::is_plain_sgd<Decayed, float> && !optim::is_plain_sgd<Own, float>);
static_assert(!optim::is_plain_sgd<Momentum, float>);

TEST_CASE("sgd, momentum, nesterov, weight decay") {
  CHECK(after<Sgd>({1, 2}) == doctest::Approx(1 - 0.1 - 0.2));
  CHECK(after<Momentum>({1, 2}) == doctest::Approx(1 - 0.1 * 1 - 0.1 * (0.9 + 2)));
  CHECK(after<Nesterov>({1, 2}) == doctest::Approx(1 - 0.1 * (1 + 0.9) - 0.1 * (2 + 0.9 * 2.9)));
  CHECK(after<Decayed>({1}) == doctest::Approx(1 - 0.1 * 1.5));
}
