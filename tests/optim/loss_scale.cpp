// optim/loss_scale.cpp - the factor of a loss: when it halves, when it doubles, and what gradients are multiplied by.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>

#include <cleave/optim/adaptive.hpp>
#include <limits>

using namespace cleave;

namespace {
using Eight = LossScale<8, 3>;
struct Clipped : Adam {
  static constexpr float clip_norm = 2;
};
using Scaled = optim::Unscaling<Adam, Eight>;
using ScaledAndClipped = optim::Unscaling<Clipped, Eight>;
constexpr double infinite = std::numeric_limits<double>::infinity(), none = std::numeric_limits<double>::quiet_NaN();
}  // namespace

TEST_CASE("so many finite steps in a row double the factor; one that is not halves it, and begins to count again") {
  float state[] = {0, 1};
  CHECK(Eight::factor(state) == 8);
  Eight::next(state, true), Eight::next(state, true);
  CHECK(Eight::factor(state) == 8);
  Eight::next(state, true);
  CHECK(Eight::factor(state) == 16);
  Eight::next(state, true), Eight::next(state, false);
  CHECK(Eight::factor(state) == 8);
  Eight::next(state, true), Eight::next(state, true);
  CHECK(Eight::factor(state) == 8);
  for (int i = 0; i < 4; ++i) Eight::next(state, false);
  CHECK(Eight::factor(state) == 0.5f);
}
TEST_CASE("the factor stays a finite number above zero") {
  float state[] = {0, 1};
  for (int i = 0; i < 1000; ++i) Eight::next(state, false);
  CHECK(Eight::factor(state) == std::ldexp(1.f, -100));
  float const wild[] = {1e30f, 1};  // as from a file
  CHECK(Eight::factor(wild) == std::ldexp(1.f, 100));
  for (int i = 0; i < 1000; ++i) LossScale<(1L << 20), 1>::next(state, true);
  CHECK((LossScale<(1L << 20), 1>::factor(state)) == std::ldexp(1.f, 100));
}
TEST_CASE("gradients are divided by the factor that they were made with; a step that is not finite is skipped") {
  static_assert(optim::ScalesGradients<Scaled> && optim::ScalesGradients<Clipped> && !optim::ScalesGradients<Adam>);
  double state[] = {0, 3};
  CHECK(optim::gradient_scale<Scaled>(64.0, state) == 1.0 / 8);
  CHECK(state[0] == 1);
  CHECK(optim::gradient_scale<Scaled>(infinite, state) == 0);
  CHECK(state[0] == 0);
  CHECK(optim::gradient_scale<Scaled>(none, state) == 0);
  CHECK(state[0] == -1);
  CHECK(optim::gradient_scale<Scaled>(64.0, state) == 1.0 / 4);
}
TEST_CASE("clip_norm is of the gradients without the factor") {
  double state[] = {0, 1};
  CHECK(optim::gradient_scale<ScaledAndClipped>(64 * 16.0, state) == 2 / (4 + 1e-6) / 8);
  CHECK(optim::gradient_scale<ScaledAndClipped>(64 * 1.0, state) == 1.0 / 8);
  CHECK(optim::gradient_scale<Clipped>(16.0, static_cast<double*>(nullptr)) == 2 / (4 + 1e-6));
}
