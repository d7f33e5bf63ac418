// backend/gpu/kernels/tailed.cpp - what goes element by element behind a kernel, done by it: the bits of one after the other.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cleave/backend/gpu/kernels/convolve.hpp>
#include <cleave/backend/gpu/kernels/norms.hpp>
#include <cleave/backend/gpu/kernels/product.hpp>
#include <cleave/layer/activation.hpp>
#include <cleave/op/dropout.hpp>
#include <cleave/op/join.hpp>

#include "../compare.hpp"

using namespace cleave;
using namespace cleave::testing;
namespace gpu = cleave::backend::gpu;

namespace {

using Slope = op::Map<layer::TanhFunction>;
constexpr op::Local elements_of(op::Local of, Shape s) { return {of.rows, of.rows, s, s, s, {}, {}}; }

template <class E> bool bit_equal(Many<E> const& a, Many<E> const& b) {
  return std::memcmp(a.data(), b.data(), a.size() * sizeof(E)) == 0;
}

/// Two slices by Op's kernel with three operations behind it, against its kernel alone and their definitions.
template <class Op, op::Local L, class T, bool WithBias = false, class Map = void> void with_tail() {
  constexpr op::Local all{2 * L.rows, 2 * L.rows, L.x, L.x2, L.y, L.w0, L.w1}, y = elements_of(all, L.y),
                                                                               x = elements_of(all, L.x);
  constexpr op::Local slice_y = elements_of(L, L.y), slice_x = elements_of(L, L.x);
  using K = gpu::Kernel<Op>;
  Tensors<Op, all, T> whole, parts;
  Tensors<op::Drop<30>, y, T> drop[2];
  Tensors<op::Add, y, T> add[2];
  Tensors<Slope, x, T> tanh[2];
  Tensors<op::Drop<20>, x, T> undrop[2];
  Machine machine;
  gpu::Queue<Machine> const q{&machine, machine.stream(), machine.allocate(backend::gpu::workspace_bytes)};

  op::Operands<T> forth[2][2], back[2][2], head[2];
  for (int way : {0, 1}) {
    auto& of = way == 0 ? whole : parts;
    op::Operands<T>& t = head[way] = of.operands();
    t.slices = 2;
    forth[way][0] = drop[way].operands();
    forth[way][0].x = t.y;
    forth[way][1] = add[way].operands();
    forth[way][1].x = forth[way][1].y = forth[way][0].y;  // in place
    back[way][0] = undrop[way].operands();
    back[way][0].dy = back[way][0].dx = t.dx;
    back[way][1] = tanh[way].operands();
    back[way][1].dy = back[way][1].dx = t.dx;
    back[way][1].y = const_cast<T*>(tanh[way].x.data());
    for (op::Operands<T>* o : {&forth[way][0], &forth[way][1], &back[way][0], &back[way][1]}) o->slices = 2;
  }
  long const before = machine.launches();
  head[0].tail = forth[0];
  K::template forward_with<op::Tail<false, op::Made<op::Drop<30>, slice_y>, op::Made<op::Add, slice_y>>, L, WithBias,
                           Map>(q, head[0]);
  head[0].tail = back[0];
  K::template backward_input_with<op::Tail<true, op::Made<op::Drop<20>, slice_x>, op::Made<Slope, slice_x>>, L>(
      q, head[0]);
  machine.finish();
  long const between = machine.launches();
  K::template forward<L, WithBias, Map>(q, head[1]);
  K::template backward_input<L>(q, head[1]);
  machine.finish();
  CHECK(machine.launches() - between == between - before);
  op::Drop<30>::forward<y>(Plainly{}, forth[1][0]);
  op::Add::forward<y>(Plainly{}, forth[1][1]);
  op::Drop<20>::backward_input<x>(Plainly{}, back[1][0]);
  Slope::backward_input<x>(Plainly{}, back[1][1]);
  CHECK(bit_equal(whole.y, parts.y));
  CHECK(bit_equal(drop[0].y, drop[1].y));
  CHECK(bit_equal(whole.dx, parts.dx));
}

template <class T> void with_tails() {
  constexpr op::Local product{5, 10, Shape(33), {}, Shape(17), Shape(33, 17), {}};
  with_tail<op::Product<17>, product, T, true, layer::ReluFunction>();
  constexpr op::Local long_sum{4, 8, Shape(700), {}, Shape(9), Shape(700, 9), {}};  // taken apart, and joined
  with_tail<op::Product<9>, long_sum, T>();
  constexpr op::Local patches{3, 6, Shape(2, 7, 5), {}, Shape(4, 7, 5), Shape(4, 2, 3, 3), {}};
  with_tail<op::Convolve<4, 3, 1, 1, 1>, patches, T, true>();
  constexpr op::Local row{7, 14, Shape(33), {}, Shape(33), Shape(33), Shape(33)};
  with_tail<op::LayerNorm, row, T>();
  constexpr op::Local channels{3, 6, Shape(5, 3, 3), Shape(2, 5), Shape(5, 3, 3), Shape(5), Shape(5)};
  with_tail<op::Normalise, channels, T>();
  constexpr op::Local elements{3, 6, Shape(21), {}, Shape(21), {}, {}};
  with_tail<op::Drop<40>, elements, T>();
}

}  // namespace

TEST_CASE("products, convolutions, normalisations and elements with dropout, a sum and a slope behind them: f32") {
  with_tails<float>();
}
TEST_CASE("the same in bf16, tf32 and fp8, on tensor cores") {
  with_tails<bf16>();
  with_tails<tf32>();
  with_tails<fp8>();
}
TEST_CASE("the same by warpgroups") {
  constexpr op::Local product{40, 80, Shape(136), {}, Shape(72), Shape(136, 72), {}};
  static_assert(gpu::by_groups<gpu::ProductForward<product, false, void, bf16>>());
  with_tail<op::Product<72>, product, bf16, true, layer::ReluFunction>();
  constexpr op::Local patches{1, 2, Shape(64, 5, 16), {}, Shape(72, 5, 16), Shape(72, 64, 3, 3), {}};
  static_assert(gpu::by_groups<gpu::ConvolveInput<patches, 3, 1, 1, 1, bf16>>());
  with_tail<op::Convolve<72, 3, 1, 1, 1>, patches, f16, true>();
}
