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
  std::vector<double> stats(2), part(2);
  std::vector<float> y(4), mean{0}, variance{1};
  op::Pass pass;
  for (std::size_t slice : {0u, 1u}) {
    op::Operands<float> t;
    t.x = x.data() + 2 * slice;
    t.stats = part.data();
    op::BatchSums::forward<half>(test::Serial{}, t);
    for (std::size_t i : {0u, 1u}) stats[i] += part[i];
  }
  CHECK(stats == std::vector<double>{16, 84});
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

// Eight samples in four slices, deviation about 0.7, on a mean.
template <class T> void is_normalised(double far, double tolerance) {
  static constexpr op::Local quarter{2, 8, Shape(1), Shape(2, 1), Shape(1), Shape(1), Shape(1)};
  using A = tensor::accumulate_t<T>;
  using S = tensor::batch_sum_t<T>;
  std::vector<double> const apart{0.5, -1, 0.25, 1, -0.5, -0.75, 0.75, -0.5};
  std::vector<T> x, y(8), gain{T{1}}, bias{T{0}};
  double mean = 0, variance = 0;
  for (double a : apart) x.push_back(static_cast<T>(far + a)), mean += (static_cast<double>(x.back()) - far) / 8;
  for (T v : x) variance += (static_cast<double>(v) - far - mean) * (static_cast<double>(v) - far - mean) / 8;
  std::vector<S> stats{S{0}, S{0}}, part = stats;
  std::vector<A> running_mean{0}, running_variance{0};
  op::Pass pass;
  op::Operands<T> t;
  for (std::size_t slice = 0; slice < 8; slice += 2) {
    t.x = x.data() + slice;
    t.stats = part.data();
    op::BatchSums::forward<quarter>(test::Serial{}, t);
    for (std::size_t i : {0u, 1u}) stats[i] += part[i];
  }
  t.stats = stats.data();
  t.w0 = gain.data();
  t.w1 = bias.data();
  t.state0 = running_mean.data();
  t.state1 = running_variance.data();
  t.pass = &pass;
  for (std::size_t slice = 0; slice < 8; slice += 2) {
    t.x = x.data() + slice;
    t.y = y.data() + slice;
    t.where.first_slice = slice == 0;
    op::Normalise::forward<quarter>(test::Serial{}, t);
  }
  CHECK(std::fabs(running_variance[0] / (0.1 * variance * 8 / 7) - 1) <= tolerance);
  for (std::size_t i = 0; i < 8; ++i) {
    double const wanted = (static_cast<double>(x[i]) - far - mean) / std::sqrt(variance + 1e-5);
    CHECK(std::fabs(y[i] - wanted) <= tolerance);
  }
}
TEST_CASE("a variance keeps its digits beside a large mean") {
  for (double far : {0., 300., 1000., 3000., 1e5}) is_normalised<float>(far, 1e-6);
  for (double far : {0., 3000., 1e6, 1e9, 1e12}) is_normalised<double>(far, 1e-14);
}
TEST_CASE("equal numbers have the variance 0, and none below") {
  static constexpr op::Local all{49, 49, Shape(1), Shape(2, 1), Shape(1), Shape(1), Shape(1)};
  for (float value : {0.47f, 1.21f, 2.69f, 3.43f, 3.8f, 300.7f, 12345.678f, 1e15f}) {
    std::vector<float> const x(49, value), one{1};
    std::vector<double> stats(2);
    std::vector<float> y(49), mean{0}, variance{0};
    op::Pass pass;
    op::Operands<float> t;
    t.x = x.data();
    t.y = y.data();
    t.w0 = t.w1 = one.data();
    t.stats = stats.data();
    t.state0 = mean.data();
    t.state1 = variance.data();
    t.pass = &pass;
    op::BatchSums::forward<all>(test::Serial{}, t);
    op::Normalise::forward<all>(test::Serial{}, t);
    CHECK(variance[0] >= 0);
    CHECK(variance[0] <= 1e-14f * value * value);
  }
}
