// op/batch_norm.cpp - sums over slices make the batch's statistics; running ones are kept once and used in evaluation.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave/op/batch_norm.hpp>
#include <cmath>
#include <initializer_list>

#include "operation.hpp"

using namespace cleave;

namespace {
constexpr op::Local half{2, 4, Shape(1), Shape(2, 1), Shape(1), Shape(1), Shape(1)};  // two of a batch of four
}

TEST_CASE("two slices of two are normalised as one batch of four") {
  std::vector<float> const x{1, 3, 5, 7}, gain{2}, bias{1};
  std::vector<float> stats(2), part(2), y(4), mean{0}, variance{1};
  op::Pass pass;
  for (std::size_t slice : {0u, 1u}) {
    op::Operands<float> t;
    t.x = x.data() + 2 * slice;
    t.stats = part.data();
    op::BatchSums::forward<half>(test::Serial{}, t);
    for (std::size_t i : {0u, 1u}) stats[i] += part[i];
  }
  CHECK(stats == std::vector<float>{16, 84});
  op::Operands<float> t;
  t.stats = stats.data();
  t.w0 = gain.data();
  t.w1 = bias.data();
  t.state0 = mean.data();
  t.state1 = variance.data();
  t.pass = &pass;
  for (std::size_t slice : {0u, 1u}) {
    t.x = x.data() + 2 * slice;
    t.y = y.data() + 2 * slice;
    t.where.first_slice = slice == 0;
    op::Normalise::forward<half>(test::Serial{}, t);
  }
  for (std::size_t i = 0; i < 4; ++i) CHECK(y[i] == doctest::Approx(1 + 2 * (x[i] - 4) / std::sqrt(5.0)).epsilon(1e-4));
  CHECK(mean[0] == doctest::Approx(0.4));                       // a tenth of the way, by the first slice alone
  CHECK(variance[0] == doctest::Approx(0.9 + 0.1 * 20.0 / 3));  // of which the unbiased one

  pass.training = false;
  t.x = x.data();
  t.y = y.data();
  op::Normalise::forward<half>(test::Serial{}, t);
  CHECK(y[0] == doctest::Approx(1 + 2 * (1 - 0.4) / std::sqrt(0.9 + 2.0 / 3)).epsilon(1e-4));
}
