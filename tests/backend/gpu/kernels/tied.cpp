// backend/gpu/kernels/tied.cpp - a product by the rows of a table, and the table's gradient, against their definitions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cleave/backend/gpu/kernels/tied.hpp>
#include <cleave/layer/activation.hpp>

#include "../compare.hpp"

using namespace cleave;
using namespace cleave::testing;

TEST_CASE("odd extents, and an end with bias and map") {
  using Op = op::TransposedProduct<37>;
  compare_products<Op, local<Op>(13, Shape(21))>();
  compare_products<Op, local<Op>(13, Shape(21)), true, layer::ReluFunction>();
}
TEST_CASE("extents that are read 16 bytes at a time, several tiles along every side") {
  using Op = op::TransposedProduct<72>;
  compare_products<Op, local<Op>(72, Shape(136)), true, layer::TanhFunction>();
}
TEST_CASE("large tiles of tensor cores") {
  using Op = op::TransposedProduct<264>;
  compare<Op, local<Op>(257, Shape(40)), bf16>(1e-2);
  compare<Op, local<Op>(257, Shape(40)), fp8>(1e-2);
}
TEST_CASE("the gradient of a table that a product reads too") {
  using Op = op::TiedLookup<11, 6>;
  constexpr op::Local l = local<Op>(5, Shape(4)), reader = Op::of_reader(l);
  Tensors<Op, l, float> tried;
  auto wanted = tried;
  Tensors<Op::Reader, reader, float> read;
  auto t = tried.operands(), o = wanted.operands(), r = read.operands();
  t.tail = o.tail = &r;
  Machine m;
  backend::gpu::Queue<Machine> const q{&m, m.stream(), m.allocate(backend::gpu::workspace_bytes)};
  backend::gpu::Kernel<Op>::backward_weight<l, float>(q, t);
  m.finish();
  Op::backward_weight<l>(Plainly{}, o);
  agree("dw0", tried.dw0, wanted.dw0, 1e-5);
}
