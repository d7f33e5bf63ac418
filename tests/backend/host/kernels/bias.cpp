// backend/host/kernels/bias.cpp - the gradient of a bias is its definition's, to rounding; each chain's edges are met.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave/backend/host/kernels/bias.hpp>

#include "../compare.hpp"

using namespace cleave;
namespace host = cleave::backend::host;

namespace {
template <int C, int H, int W, class T> void agrees() {
  constexpr int rows = 3;
  static constexpr op::Local l{rows, rows, Shape(C, H, W), {}, Shape(C, H, W), Shape(C), {}};
  auto const dy = test::numbers<T>(rows * C * H * W, 3);
  using A = tensor::accumulate_t<T>;
  auto mine = test::poisoned<A>(C), wanted = mine;
  op::Operands<T> t;
  t.dy = dy.data();
  t.dw0 = mine.data();
  host::Kernel<op::Bias>::template backward_weight<l>(host::Context{}, t);
  t.dw0 = wanted.data();
  op::Bias::template backward_weight<l>(test::Serial{}, t);
  CHECK(test::error(mine, wanted, rows * H * W) < 1);
}
template <class T> void everywhere() {
  agrees<5, 1, 1, T>();
  agrees<70, 1, 1, T>();
  agrees<3, 3, 5, T>();   // fewer positions than chains
  agrees<3, 4, 4, T>();   // as many
  agrees<2, 7, 11, T>();  // some left over
}
}  // namespace

TEST_CASE("f32, f64, bf16") {
  everywhere<float>();
  everywhere<double>();
  everywhere<bf16>();
}
