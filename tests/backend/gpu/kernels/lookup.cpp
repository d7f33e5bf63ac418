// backend/gpu/kernels/lookup.cpp - a table's gradient by rows: the bits of the definition, a feature or several for each thread.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cleave/backend/gpu/kernels/lookup.hpp>

#include "../compare.hpp"

using namespace cleave;
using namespace cleave::testing;

template <int Features, class T> void rows() {
  using Op = op::Lookup<11, Features, false>;
  constexpr op::Local l = local<Op>(5, Shape(4));
  Tensors<Op, l, T> tried;
  auto wanted = tried;
  auto t = tried.operands(), o = wanted.operands();
  Machine m;
  backend::gpu::Queue<Machine> const q{&m, m.stream(), nullptr};
  backend::gpu::Kernel<Op>::template backward_weight<l, T>(q, t);
  m.finish();
  Op::template backward_weight<l>(Plainly{}, o);
  CHECK(tried.dw0 == wanted.dw0);
}
TEST_CASE("rows that no token names, that several do, and tokens of no row") {
  rows<6, float>();
  rows<77, float>();
  rows<530, bf16>();
}
