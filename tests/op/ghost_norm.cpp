// op/ghost_norm.cpp - each slice has mean 0 and deviation 1; the running statistics get its part of the mean over a step, and
// are what evaluation uses.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave/op/ghost_norm.hpp>
#include <cmath>
#include <vector>

#include "operation.hpp"

using namespace cleave;

namespace {
// Two samples of four, of two channels and one position.
constexpr op::Local half{2, 4, Shape(2, 1, 1), Shape{}, Shape(2, 1, 1), Shape(2), Shape(2)};
}  // namespace

TEST_CASE(
    "a slice comes out with mean 0 and deviation 1 by its own samples; its share of the statistics is by samples") {
  std::vector<float> const x{1, 10, 3, 30}, mean{7, 7}, variance{9, 9};
  std::vector<float> y(4), aux(12), dmean(2), dvariance(2);
  op::Pass pass;
  op::Operands<float> t;
  t.x = x.data();
  t.w0 = mean.data();
  t.w1 = variance.data();
  t.y = y.data();
  t.aux = aux.data();
  t.dw0 = dmean.data();
  t.dw1 = dvariance.data();
  t.pass = &pass;
  t.scale = 0.25f;
  op::NormaliseMicroBatch::forward<half>(test::Serial{}, t);
  float const of_first = static_cast<float>(1 / std::sqrt(1 + 1e-5)),
              of_second = static_cast<float>(10 / std::sqrt(100 + 1e-5));
  CHECK(y[0] == doctest::Approx(-of_first));
  CHECK(y[1] == doctest::Approx(-of_second));
  CHECK(y[2] == doctest::Approx(of_first));
  CHECK(y[3] == doctest::Approx(of_second));
  op::NormaliseMicroBatch::backward_weight<half>(test::Serial{}, t);
  CHECK(dmean == std::vector<float>{1, 10});       // half of 2 and 20
  CHECK(dvariance == std::vector<float>{1, 100});  // half of 2 and 200, which are unbiased

  pass.training = false;
  op::NormaliseMicroBatch::forward<half>(test::Serial{}, t);
  CHECK(y[0] == doctest::Approx(-2));
  CHECK(y[3] == doctest::Approx(23.0 / 3));
}

TEST_CASE("gradients of a slice sum to zero, and so do they weighted by its outputs") {
  std::vector<float> const x{1, 10, 3, 30}, dy{5, -1, 2, 4}, mean{0, 0}, variance{1, 1};
  std::vector<float> y(4), dx(4), aux(12);
  op::Pass pass;
  op::Operands<float> t;
  t.x = x.data();
  t.w0 = mean.data();
  t.w1 = variance.data();
  t.y = y.data();
  t.dy = dy.data();
  t.dx = dx.data();
  t.aux = aux.data();
  t.pass = &pass;
  op::NormaliseMicroBatch::forward<half>(test::Serial{}, t);
  op::NormaliseMicroBatch::backward_input<half>(test::Serial{}, t);
  for (std::size_t c : {0u, 1u}) {
    CHECK(dx[c] + dx[2 + c] == doctest::Approx(0));
    CHECK(std::abs(dx[c] * y[c] + dx[2 + c] * y[2 + c]) < 1e-4);
  }
}

TEST_CASE("a scale and a shift per channel, and their gradients") {
  std::vector<float> const x{1, 10, 3, 30}, dy{5, -1, 2, 4}, scale{2, 3}, shift{1, -1};
  std::vector<float> y(4), dx(4), dscale(2), dshift(2);
  op::Operands<float> t;
  t.x = x.data();
  t.w0 = scale.data();
  t.w1 = shift.data();
  t.y = y.data();
  t.dy = dy.data();
  t.dx = dx.data();
  t.dw0 = dscale.data();
  t.dw1 = dshift.data();
  op::ScaleAndShift::forward<half>(test::Serial{}, t);
  op::ScaleAndShift::backward_input<half>(test::Serial{}, t);
  op::ScaleAndShift::backward_weight<half>(test::Serial{}, t);
  CHECK(y == std::vector<float>{3, 29, 7, 89});
  CHECK(dx == std::vector<float>{10, -3, 4, 12});
  CHECK(dscale == std::vector<float>{11, 110});
  CHECK(dshift == std::vector<float>{7, 3});
}
