// backend/gpu/kernels/product.cpp - products in tiles, plain and by tensor cores: odd sizes, split sums, merged bias and map.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cleave/backend/gpu/kernels/product.hpp>
#include <cleave/layer/activation.hpp>

#include "../compare.hpp"

using namespace cleave;
using namespace cleave::testing;

TEST_CASE("a product of odd extents, its adjoints, and its end with bias and map") {
  compare_products<op::Product<37>, local<op::Product<37>>(13, Shape(21))>();
  compare_products<op::Product<37>, local<op::Product<37>>(13, Shape(21)), true, layer::ReluFunction>();
  compare_products<op::Product<5>, local<op::Product<5>>(1, Shape(3)), true>();
}
TEST_CASE("extents that are read 16 bytes at a time, several tiles along every side") {
  compare_products<op::Product<72>, local<op::Product<72>>(72, Shape(136)), true, layer::TanhFunction>();
}
TEST_CASE("large tiles of tensor cores") {
  using Op = op::Product<264>;
  static_assert(backend::gpu::Blocking<backend::gpu::ProductForward<local<Op>(257, Shape(40)), false, void, bf16>,
                                       backend::gpu::Bf16Tile>::large);
  compare<Op, local<Op>(257, Shape(40)), bf16>(1e-2);
  compare<Op, local<Op>(257, Shape(40)), tf32>(1e-5);
  compare<Op, local<Op>(257, Shape(40)), fp8>(1e-2);
}
TEST_CASE("a long sum is split, so that a small result fills a device; the parts are joined in their order") {
  using Op = op::Product<10>;
  constexpr op::Local l = local<Op>(4, Shape(1000));
  static_assert(backend::gpu::splits<backend::gpu::ProductForward<l, false, void, float>, backend::gpu::Plain, float>(
                    backend::gpu::workspace_bytes) > 1);
  compare_products<Op, l, true>();
}
TEST_CASE("weights that do not begin at a multiple of 16 bytes are read all the same") {
  struct alignas(16) Line {
    float v[9];
  } const line{{0, 1, 2, 3, 4, 5, 6, 7, 8}};
  for (int off = 0; off < 4; ++off) {
    auto const p = backend::gpu::load<4>(line.v + off);
    for (int i = 0; i < 4; ++i) CHECK(p.v[i] == static_cast<float>(off + i));
  }
}
TEST_CASE("a plain product's bits do not depend on how many rows there are") {
  using Op = op::Product<24>;
  constexpr op::Local one = local<Op>(1, Shape(40)), many = local<Op>(70, Shape(40));
  Tensors<Op, many, float> t;
  Machine m;
  backend::gpu::Queue<Machine> const q{&m, m.stream(), m.allocate(backend::gpu::workspace_bytes)};
  auto all = t.operands();
  backend::gpu::Kernel<Op>::forward<many, false, void, float>(q, all);
  Many<float> row(24);
  for (long b : {0, 33, 69}) {
    auto single = all;
    single.x += b * 40;
    single.y = row.data();
    backend::gpu::Kernel<Op>::forward<one, false, void, float>(q, single);
    m.finish();
    for (int o = 0; o < 24; ++o) CHECK(row[static_cast<std::size_t>(o)] == t.y[static_cast<std::size_t>(b * 24 + o)]);
  }
}
namespace {

/// What a format rounds: numbers with more bits than it multiplies, over a wide range, against the definition.
template <class T> void as_defined(double tolerance) {
  using Op = op::Product<40>;
  constexpr op::Local l = local<Op>(70, Shape(133));
  Tensors<Op, l, T> wanted;
  for (auto* v : {&wanted.x, &wanted.w0, &wanted.dy}) {
    for (std::size_t i = 0; i < v->size(); ++i) {
      float const wide = sizeof(T) == 2 ? std::ldexp(1.f, -static_cast<int>(i % 13)) : 1;
      (*v)[i] = T(static_cast<float>((*v)[i]) * (1 + 0.001f * static_cast<float>(i % 7)) * wide);
    }
  }
  auto tried = wanted;
  auto o = wanted.operands(), t = tried.operands();
  Op::forward<l>(Plainly{}, o);
  Op::backward_input<l>(Plainly{}, o);
  Op::backward_weight<l>(Plainly{}, o);
  Machine m;
  backend::gpu::Queue<Machine> const q{&m, m.stream(), m.allocate(backend::gpu::workspace_bytes)};
  using K = backend::gpu::Kernel<Op>;
  K::forward<l, false, void, T>(q, t);
  K::backward_input<l, T>(q, t);
  K::backward_weight<l, T>(q, t);
  m.finish();
  agree("y", tried.y, wanted.y, tolerance);
  agree("dx", tried.dx, wanted.dx, tolerance);
  agree("dw0", tried.dw0, wanted.dw0, 4e-6);
}

}  // namespace

TEST_CASE("tf32 rounds what it multiplies, to nearest, as the definition does") { as_defined<tf32>(4e-6); }
TEST_CASE("fp8 rounds what it multiplies, at scales of their own, as the definition does") { as_defined<fp8>(8e-3); }

TEST_CASE("what is not finite is found in fp8, and spoils no other row") {
  using Op = op::Product<24>;
  constexpr op::Local l = local<Op>(3, Shape(40));
  Tensors<Op, l, fp8> t;
  t.x[50] = fp8(INFINITY);
  t.x[90] = fp8(NAN);
  Machine m;
  backend::gpu::Queue<Machine> const q{&m, m.stream(), m.allocate(backend::gpu::workspace_bytes)};
  backend::gpu::Kernel<Op>::forward<l, false, void, fp8>(q, t.operands());
  m.finish();
  for (std::size_t e = 0; e < t.y.size(); ++e) CHECK(std::isfinite(static_cast<float>(t.y[e])) == (e < 24));
}
