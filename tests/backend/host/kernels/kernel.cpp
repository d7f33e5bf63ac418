// backend/host/kernels/kernel.cpp - an operation without a kernel of its own runs its definition, bias and map behind it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave/backend/host/kernels/kernel.hpp>
#include <cleave/op/bias.hpp>
#include <cleave/op/dropout.hpp>
#include <cleave/op/join.hpp>
#include <cleave/op/map.hpp>
#include <cleave/op/per_position.hpp>
#include <cleave/op/product.hpp>

#include "../compare.hpp"

using namespace cleave;
using namespace cleave::backend::host;

namespace {
struct Twice {
  static constexpr auto name = "twice";
  static constexpr bool from_output = false;
  template <class A> static A forward(A x) { return 2 * x; }
  template <class A> static A slope(A) { return 2; }
};
/// Derived from an operation of any extents, and reads them.
struct Ramp : op::Map<Twice> {
  template <op::Local L, class Ctx, class T> static void forward(Ctx ctx, op::Operands<T> const& t) {
    ctx.each(L.rows * L.y.size(), [&](long i) { t.y[i] = t.x[i] * static_cast<T>(1 + i % L.y.size()); });
  }
};
/// Has no way back.
struct Sign : op::Base {
  static constexpr bool pointwise = true;
  template <op::Local L, class Ctx, class T> static void forward(Ctx ctx, op::Operands<T> const& t) {
    ctx.each(L.rows * L.y.size(), [&](long i) { t.y[i] = t.x[i] < 0 ? T{-1} : T{1}; });
  }
};
/// Counts, and so is no loop over elements alone.
struct Counts : op::Base {
  static constexpr bool pointwise = true;
  static constexpr int states = 1;
};
static_assert(is_pointwise<op::Map<Twice>> && is_pointwise<op::Add> && is_pointwise<op::Drop<10>> &&
              is_pointwise<Sign>);
static_assert(!is_pointwise<op::OnEachPosition<op::Map<Twice>>> && !is_pointwise<Counts> && !is_pointwise<op::Bias>);
static_assert(op::of_any_extents<op::Map<Twice>> && !op::of_any_extents<Ramp> && !op::of_any_extents<op::Drop<10>>);
}  // namespace

TEST_CASE("a pointwise operation does all slices at once; one that is derived from it knows its extents") {
  static constexpr op::Local l{2, 4, Shape(3), Shape(3), Shape(3), {}, {}};
  std::vector<float> const x{1, -1, 1, -1, 1, 1, 2, 2, 2, 3, 3, -3};
  std::vector<float> y(12), dx(12);
  op::Operands<float> t;
  t.x = t.x2 = x.data();
  t.y = y.data();
  t.dx = dx.data();
  t.dy = x.data();
  t.slices = 2;
  Kernel<op::Map<Twice>>::forward<l, false, void>(Context{}, t);
  CHECK(y == std::vector<float>{2, -2, 2, -2, 2, 2, 4, 4, 4, 6, 6, -6});
  Kernel<op::Map<Twice>>::backward_input<l>(Context{}, t);
  CHECK(dx == y);
  Kernel<op::Add>::forward<l, false, void>(Context{}, t);
  CHECK(y == dx);
  Kernel<Ramp>::forward<l, false, void>(Context{}, t);
  CHECK(y == std::vector<float>{1, -2, 3, -1, 2, 3, 2, 4, 6, 3, 6, -9});
  Kernel<Ramp>::forward<l, false, test::Relu>(Context{}, t);
  CHECK(y == std::vector<float>{1, 0, 3, 0, 2, 3, 2, 4, 6, 3, 6, 0});
  Kernel<Sign>::forward<l, false, void>(Context{}, t);
  CHECK(y == std::vector<float>{1, -1, 1, -1, 1, 1, 1, 1, 1, 1, 1, -1});
  Kernel<Sign>::backward_input<l>(Context{}, t);  // compiles, and does nothing
  CHECK(dx == std::vector<float>{2, -2, 2, -2, 2, 2, 4, 4, 4, 6, 6, -6});
}

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
