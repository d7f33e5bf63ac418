// backend/host/kernels/kernel.cpp - an operation without a kernel of its own runs its definition, bias and map behind it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave/backend/host/kernels/kernel.hpp>
#include <cleave/op/join.hpp>
#include <cleave/op/product.hpp>

#include "../compare.hpp"

using namespace cleave;
using namespace cleave::backend::host;

TEST_CASE("bias and map are merged into any product") {
  static constexpr op::Local l{2, 2, Shape(2), {}, Shape(3), Shape(2, 3), {}};
  std::vector<float> const x{1, 2, 3, 4}, w{1, 0, -1, 0, 1, -1}, bias{0.5f, -2.5f, 1};
  std::vector<float> y(6), dx(4), dw(6);
  op::Operands<float> t;
  t.x = x.data();
  t.w0 = w.data();
  t.y = y.data();
  t.bias = bias.data();
  Kernel<op::Product<3>>::forward<l, true, test::Relu>(Context{}, t);
  CHECK(y == std::vector<float>{1.5f, 0, 0, 3.5f, 1.5f, 0});
  Kernel<op::Product<3>>::forward<l, false, void>(Context{}, t);
  CHECK(y == std::vector<float>{1, 2, -3, 3, 4, -7});
  t.dy = y.data();
  t.dx = dx.data();
  t.dw0 = dw.data();
  Kernel<op::Product<3>>::backward_input<l>(Context{}, t);
  CHECK(dx == std::vector<float>{4, 5, 10, 11});
  Kernel<op::Product<3>>::backward_weight<l>(Context{}, t);
  CHECK(dw == std::vector<float>{1 + 9, 2 + 12, -3 - 21, 2 + 12, 4 + 16, -6 - 28});
}

TEST_CASE("what has no weights has no gradient of them") {
  static constexpr op::Local l{1, 1, Shape(1), Shape(1), Shape(1), {}, {}};
  float untouched = 7;
  op::Operands<float> t;
  t.dw0 = &untouched;
  Kernel<op::Add>::backward_weight<l>(Context{}, t);
  CHECK(untouched == 7);
}
