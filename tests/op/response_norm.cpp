// op/response_norm.cpp - neighbours by hand: the window is cut off at the first and the last channel.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave/op/response_norm.hpp>

#include "operation.hpp"

using namespace cleave;

namespace {
struct Plain {
  static constexpr double k = 1, alpha = 3, beta = 1;
};
}  // namespace

TEST_CASE("each channel is divided by one and the squares of itself and its neighbours") {
  using Op = op::ResponseNorm<3, Plain>;
  static constexpr op::Local l = test::local<Op>(1, Shape(3, 1, 2));
  std::vector<float> const x{1, 0, 2, 0, 3, 1};
  auto y = test::zeros(6), aux = y;
  op::Operands<float> t;
  t.x = x.data();
  t.y = y.data();
  t.aux = aux.data();
  Op::forward<l>(test::Serial{}, t);
  double const wanted[] = {1.0 / (1 + 1 + 4), 0, 2.0 / (1 + 1 + 4 + 9), 0, 3.0 / (1 + 4 + 9), 1.0 / (1 + 1)};
  for (std::size_t i = 0; i < 6; ++i) CHECK(y[i] == doctest::Approx(wanted[i]));
}
