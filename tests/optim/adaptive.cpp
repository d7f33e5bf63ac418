// optim/adaptive.cpp - two steps of each, against the formulas written out.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>

#include <cleave/optim/adaptive.hpp>
#include <initializer_list>

using namespace cleave;

namespace {
template <class O> double after(std::initializer_list<double> gradients) {
  double w = 1, m0 = 0, m1 = 0;
  optim::Now<double> now;
  now.rate = 0.1;
  double p1 = 1, p2 = 1;
  for (double g : gradients) {
    p1 *= 0.9f;
    p2 *= 0.999f;
    now.correct1 = 1 - p1;
    now.correct2 = 1 - p2;
    O::template step<O, double>(w, g, m0, m1, now);
  }
  return w;
}
}  // namespace

TEST_CASE("adagrad, rmsprop") {
  CHECK(after<Adagrad>({3, 4}) == doctest::Approx(1 - 0.1 - 0.1 * 4 / 5));
  double const s1 = 0.01 * 9, s2 = 0.99 * s1 + 0.01 * 16;
  CHECK(after<RmsProp>({3, 4}) == doctest::Approx(1 - 0.1 * 3 / std::sqrt(s1) - 0.1 * 4 / std::sqrt(s2)).epsilon(1e-5));
}

TEST_CASE("adam's first steps are the rate, whatever the gradient's size; adamw decays beside them") {
  CHECK(after<Adam>({1e-3}) == doctest::Approx(0.9).epsilon(1e-4));
  CHECK(after<Adam>({5, 5}) == doctest::Approx(0.8).epsilon(1e-4));
  CHECK(after<AdamW>({5}) == doctest::Approx(1 - 0.1 * 0.01 - 0.1).epsilon(1e-4));
}
