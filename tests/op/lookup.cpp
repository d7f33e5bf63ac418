// op/lookup.cpp - rows forward, sums of rows by token backward; the host's kernel has the definition's bits.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave/backend/host/kernels/lookup.hpp>
#include <cleave/op/lookup.hpp>

#include <cmath>
#include <vector>

using namespace cleave;

namespace {
using Table = op::Lookup<5, 3, true>;
constexpr op::Local local{2, 2, Shape(3), {}, Shape(3, 3), Shape(5, 3), {}};
}  // namespace

TEST_CASE("y is the token's row; dW is the sum over its places, in their order; an invalid token gives NaN") {
  static_assert(Table::output(Shape(3)) == Shape(3, 3) && Table::weight(0, Shape(3)).shape == Shape(5, 3));
  std::vector<std::int32_t> const x{4, 0, 4, 2, 4, 0};
  std::vector<float> w(15), y(18), dy(18), dw(15, 7), again(15, 8), dx(6, 9);
  for (std::size_t i = 0; i < 15; ++i) w[i] = static_cast<float>(i);
  for (std::size_t i = 0; i < 18; ++i) dy[i] = 0.1f * static_cast<float>(i + 1);
  op::Operands<float> t;
  t.tokens = x.data();
  t.w0 = w.data();
  t.y = y.data();
  t.dy = dy.data();
  t.dw0 = dw.data();
  t.dx = dx.data();
  backend::host::Context const c;
  Table::forward<local>(c, t);
  Table::backward_weight<local>(c, t);
  Table::backward_input<local>(c, t);
  CHECK(dx == std::vector<float>(6, 0));
  for (std::size_t k = 0; k < 6; ++k) {
    for (std::size_t f = 0; f < 3; ++f) CHECK(y[3 * k + f] == w[static_cast<std::size_t>(x[k]) * 3 + f]);
  }
  for (std::size_t v = 0; v < 5; ++v) {
    for (std::size_t f = 0; f < 3; ++f) {
      float sum = 0;
      for (std::size_t k = 0; k < 6; ++k) {
        if (x[k] == static_cast<std::int32_t>(v)) sum += dy[3 * k + f];
      }
      CHECK(dw[3 * v + f] == sum);
    }
  }
  t.dw0 = again.data();
  backend::host::Kernel<Table>::backward_weight<local>(c, t);
  CHECK(again == dw);

  std::vector<std::int32_t> const none{-1, 5, 1 << 30, -(1 << 30), 1, 1};
  t.tokens = none.data();
  Table::forward<local>(c, t);
  for (std::size_t i = 0; i < 12; ++i) CHECK(std::isnan(y[i]));
  CHECK(y[12] == w[3]);
}
