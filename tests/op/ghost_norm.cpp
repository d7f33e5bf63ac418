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

/// Of these samples, and what kernels write.
struct Slice {
  std::vector<float> x, w0, w1, dy{5, -1, 2, 4};
  std::vector<float> y = std::vector<float>(4), dx = y, aux = std::vector<float>(12), dw0 = std::vector<float>(2),
                     dw1 = dw0;
  op::Pass pass{};
  op::Operands<float> operands() {
    op::Operands<float> t;
    t.x = x.data();
    t.w0 = w0.data();
    t.w1 = w1.data();
    t.y = y.data();
    t.dy = dy.data();
    t.dx = dx.data();
    t.aux = aux.data();
    t.dw0 = dw0.data();
    t.dw1 = dw1.data();
    t.pass = &pass;
    t.scale = 0.25f;
    return t;
  }
};
}  // namespace

TEST_CASE(
    "a slice comes out with mean 0 and deviation 1 by its own samples; its share of the statistics is by samples") {
  Slice s{{1, 10, 3, 30}, {7, 7}, {9, 9}};
  op::Operands<float> const t = s.operands();
  op::NormaliseMicroBatch::forward<half>(test::Serial{}, t);
  float const of_first = static_cast<float>(1 / std::sqrt(1 + 1e-5)),
              of_second = static_cast<float>(10 / std::sqrt(100 + 1e-5));
  CHECK(s.y[0] == doctest::Approx(-of_first));
  CHECK(s.y[1] == doctest::Approx(-of_second));
  CHECK(s.y[2] == doctest::Approx(of_first));
  CHECK(s.y[3] == doctest::Approx(of_second));
  op::NormaliseMicroBatch::backward_weight<half>(test::Serial{}, t);
  CHECK(s.dw0 == std::vector<float>{1, 10});   // half of 2 and 20
  CHECK(s.dw1 == std::vector<float>{1, 100});  // half of 2 and 200, which are unbiased

  s.pass.training = false;
  op::NormaliseMicroBatch::forward<half>(test::Serial{}, t);
  CHECK(s.y[0] == doctest::Approx(-2));
  CHECK(s.y[3] == doctest::Approx(23.0 / 3));
}

TEST_CASE("gradients of a slice sum to zero, and so do they weighted by its outputs") {
  Slice s{{1, 10, 3, 30}, {0, 0}, {1, 1}};
  op::Operands<float> const t = s.operands();
  op::NormaliseMicroBatch::forward<half>(test::Serial{}, t);
  op::NormaliseMicroBatch::backward_input<half>(test::Serial{}, t);
  for (std::size_t c : {0u, 1u}) {
    CHECK(s.dx[c] + s.dx[2 + c] == doctest::Approx(0));
    CHECK(std::abs(s.dx[c] * s.y[c] + s.dx[2 + c] * s.y[2 + c]) < 1e-4);
  }
}

TEST_CASE("a scale and a shift per channel, and their gradients") {
  Slice s{{1, 10, 3, 30}, {2, 3}, {1, -1}};
  op::Operands<float> const t = s.operands();
  op::ScaleAndShift::forward<half>(test::Serial{}, t);
  op::ScaleAndShift::backward_input<half>(test::Serial{}, t);
  op::ScaleAndShift::backward_weight<half>(test::Serial{}, t);
  CHECK(s.y == std::vector<float>{3, 29, 7, 89});
  CHECK(s.dx == std::vector<float>{10, -3, 4, 12});
  CHECK(s.dw0 == std::vector<float>{11, 110});
  CHECK(s.dw1 == std::vector<float>{7, 3});
}
