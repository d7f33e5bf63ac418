// backend/gpu/kernels/linked.cpp - narrow products by one kernel: what one kernel after the other makes, over several blocks.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cleave/backend/gpu/kernels/linked.hpp>
#include <cleave/backend/gpu/kernels/product.hpp>
#include <cleave/layer/activation.hpp>
#include <cleave/op/dropout.hpp>

#include "../compare.hpp"

using namespace cleave;
using namespace cleave::testing;
namespace gpu = cleave::backend::gpu;

namespace {

constexpr int slice_rows = 25, slices_here = 3, all_rows = 75;  // more than two blocks
template <int Rows, int In, int Out>
constexpr op::Local narrow_product = {Rows, all_rows, Shape(In), {}, Shape(Out), Shape(In, Out), {}};
template <int Width> constexpr op::Local dropped = {slice_rows, all_rows, Shape(Width), {}, Shape(Width), {}, {}};

/// Three products with what goes along: 33 -> 100 (bias, relu), dropped, -> 64 -> 7 (bias); and back.
template <class T> struct Net3 {
  using Map = layer::ReluFunction;
  using Drop = op::Drop<30>;
  template <class Op, int W, bool Back> using Behind = op::Tail<Back, op::Made<Op, dropped<W>>>;
  using F0 = gpu::ProductForward<narrow_product<slice_rows, 33, 100>, true, Map, T, Behind<Drop, 100, false>>;
  using F1 = gpu::ProductForward<narrow_product<slice_rows, 100, 64>, false, void, T>;
  using F2 = gpu::ProductForward<narrow_product<slice_rows, 64, 7>, true, void, T>;
  using B2 = gpu::ProductInput<narrow_product<slice_rows, 64, 7>, T>;
  using B1 = gpu::ProductInput<narrow_product<slice_rows, 100, 64>, T, Behind<Drop, 100, true>>;
  using B0 = gpu::ProductInput<narrow_product<slice_rows, 33, 100>, T>;

  Tensors<op::Product<100>, narrow_product<all_rows, 33, 100>, T> a;
  Tensors<op::Product<64>, narrow_product<all_rows, 100, 64>, T> b;
  Tensors<op::Product<7>, narrow_product<all_rows, 64, 7>, T> c;
  Many<T> kept;  // behind the dropout
  op::Operands<T> t[3], drop, undrop;

  Net3() : kept(a.y) {
    t[0] = a.operands(), t[1] = b.operands(), t[2] = c.operands();
    drop = t[0];
    drop.x = t[0].y, drop.y = kept.data();
    t[1].x = drop.y, t[2].x = t[1].y;
    t[1].dy = t[2].dx, t[0].dy = t[1].dx;
    undrop = drop;
    undrop.dy = undrop.dx = t[1].dx;
    for (op::Operands<T>* o : {&t[0], &t[1], &t[2], &drop, &undrop}) o->slices = slices_here;
  }
  gpu::Tailed<T, typename F0::Behind> first() {
    t[0].tail = &drop;
    return t[0];
  }
  gpu::Tailed<T, typename B1::Behind> second() {
    t[1].tail = &undrop;
    return t[1];
  }
};

template <class Case, class... Next, class Of, class... Rest>
void fill(gpu::LinkedArgs<Case, Next...>& args, Of const& of, Rest const&... rest) {
  args.now = {of, nullptr, 0, slices_here};
  if constexpr (sizeof...(Next) > 0) fill(args.next, rest...);
}

template <class T> void as_one_after_the_other(double tolerance) {
  Net3<T> one, apart;
  using N = Net3<T>;
  Machine machine;
  gpu::Queue<Machine> const q{&machine, machine.stream(), machine.allocate(backend::gpu::workspace_bytes)};
  using Forward = gpu::Linked<typename N::F0, typename N::F1, typename N::F2>;
  using Back = gpu::Linked<typename N::B2, typename N::B1, typename N::B0>;
  typename Forward::Args forward{};
  fill(forward, one.first(), one.t[1], one.t[2]);
  typename Back::Args back{};
  fill(back, one.t[2], one.second(), one.t[0]);
  int const blocks = gpu::blocks_for(all_rows, Forward::rows);
  REQUIRE(blocks == 3);
  q.template launch<Forward>(blocks, forward);
  q.template launch<Back>(blocks, back);
  gpu::in_tiles<typename N::F0>(q, apart.first());
  gpu::in_tiles<typename N::F1>(q, apart.t[1]);
  gpu::in_tiles<typename N::F2>(q, apart.t[2]);
  gpu::in_tiles<typename N::B2>(q, apart.t[2]);
  gpu::in_tiles<typename N::B1>(q, apart.second());
  gpu::in_tiles<typename N::B0>(q, apart.t[0]);
  machine.finish();
  agree("first", one.a.y, apart.a.y, tolerance);
  agree("behind it", one.kept, apart.kept, tolerance);
  agree("second", one.b.y, apart.b.y, tolerance);
  agree("third", one.c.y, apart.c.y, tolerance);
  agree("back from third", one.c.dx, apart.c.dx, tolerance);
  agree("back from second", one.b.dx, apart.b.dx, tolerance);
  agree("back from first", one.a.dx, apart.a.dx, tolerance);
}

}  // namespace

TEST_CASE("narrow products in one kernel, forward and back, with what goes along: the bits of one after the other") {
  as_one_after_the_other<float>(0);
  as_one_after_the_other<bf16>(0);
  as_one_after_the_other<tf32>(0);
#ifndef __CUDACC__
  as_one_after_the_other<double>(0);
#endif
}
