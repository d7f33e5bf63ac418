// backend/host/kernels/map.cpp - the gradient of a map has the bits of its definition.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>

#include <cstring>

#include <cleave/backend/host/kernels/map.hpp>
#include <cleave/layer/activation.hpp>

#include "../compare.hpp"

namespace {

using namespace test;

template <class F, class T, int Rows, int N> void check() {
  CAPTURE(F::name);
  CAPTURE(N);
  constexpr op::Local L{Rows, Rows, Shape(N), Shape(), Shape(N), {}, {}};
  auto const x = numbers<T>(Rows * N, 1), y = numbers<T>(Rows * N, 2);
  auto dy = numbers<T>(Rows * N, 3);
  dy[0] = static_cast<T>(std::numeric_limits<float>::quiet_NaN());
  dy[1] = static_cast<T>(-std::numeric_limits<float>::infinity());
  auto wanted = poisoned<T>(Rows * N), got = wanted;
  op::Operands<T> t;
  t.x = x.data(), t.y = const_cast<T*>(y.data()), t.dy = dy.data(), t.dx = wanted.data();
  op::Map<F>::template backward_input<L>(Serial{}, t);
  t.dx = got.data();
  host::Kernel<op::Map<F>>::template backward_input<L>(host::Context{}, t);
  CHECK(std::memcmp(got.data(), wanted.data(), got.size() * sizeof(T)) == 0);
  got = dy;
  t.dy = t.dx = got.data();  // in its place
  host::Kernel<op::Map<F>>::template backward_input<L>(host::Context{}, t);
  CHECK(std::memcmp(got.data(), wanted.data(), got.size() * sizeof(T)) == 0);
}

}  // namespace

TEST_CASE("the gradient of a map, in blocks and what is left of them") {
  check<layer::ReluFunction, f32, 2, 150>();
  check<layer::ReluFunction, f32, 3, 5>();
  check<layer::ReluFunction, f64, 2, 64>();
  check<layer::ReluFunction, bf16, 2, 70>();
  check<layer::TanhFunction, f32, 2, 150>();
  check<layer::SigmoidFunction, bf16, 2, 70>();
}
