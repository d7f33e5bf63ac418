// optim/optimizer.cpp - what gradients are multiplied by that are clipped.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>

#include <cleave/optim/adaptive.hpp>
#include <limits>

using namespace cleave;

namespace {
struct Clipped : Adam {
  static constexpr float clip_norm = 2;
};
}  // namespace

TEST_CASE("clip_norm over the norm, at most one; what is no number stays none") {
  static_assert(optim::Clips<Clipped> && !optim::Clips<Adam> && !optim::Clips<AdamW>);
  auto const scale = [](double squares) { return optim::clip_scale<Clipped, double>(squares); };
  CHECK(scale(0) == 1);
  CHECK(scale(1.99 * 1.99) == 1);
  CHECK(scale(16) == 2 / (4 + 1e-6));
  CHECK(scale(std::numeric_limits<double>::infinity()) == 0);
  CHECK(std::isnan(scale(std::numeric_limits<double>::quiet_NaN())));
}
