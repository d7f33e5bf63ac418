// backend/gpu/execution/fleet.cpp - split layers on the ranks of one device, with the bits of one rank.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "../../../train/on_device.hpp"

using namespace cleave;
using namespace cleave::testing;

namespace {

/// An operation of the user's own, with weights: y = w x for each feature.
struct Gains : op::Base {
  static constexpr auto name = "gains";
  static constexpr auto equation = "bo*,o->bo*";
  static constexpr int weights = 1;
  static constexpr bool reads_x = true;
  static constexpr Shape output(Shape x) { return x; }
  static constexpr op::Weight weight(int, Shape x) { return {Shape(x[0]), op::Start::Ones, 1, 1}; }

  template <op::Local L, class Ctx, class T> CLEAVE_HD static void forward(Ctx ctx, op::Operands<T> const& t) {
    ctx.each(L.rows * L.y.size(), [&](long e) { t.y[e] = t.x[e] * t.w0[e % L.y.size()]; });
  }
  template <op::Local L, class Ctx, class T> CLEAVE_HD static void backward_input(Ctx ctx, op::Operands<T> const& t) {
    ctx.each(L.rows * L.y.size(), [&](long e) { t.dx[e] = t.dy[e] * t.w0[e % L.y.size()]; });
  }
  template <op::Local L, class Ctx, class T> CLEAVE_HD static void backward_weight(Ctx ctx, op::Operands<T> const& t) {
    ctx.each(L.w0.size(), [&](long o) {
      T sum = 0;
      for (long b = 0; b < L.rows; ++b) sum += t.dy[b * L.y.size() + o] * t.x[b * L.y.size() + o];
      t.dw0[o] = sum;
    });
  }
};
struct Own : Sequential<Vector<20>, Linear<8>, layer::Chain<Gains>, Tanh, Linear<4>, CrossEntropy> {};

}  // namespace

TEST_CASE("columns split, with data parallel") {
  as_on_threads<Of<Mlp, DataParallel<Sync>, ModelParallel<SplitCols>, AdamW>>(1e-5, {1, 2, 3});
}
TEST_CASE("rows split, in rounds") {
  as_on_threads<Of<Mlp, DataParallel<Sync>, ModelParallel<SplitRows>, Accumulate<2>>>(1e-6, {1, 2, 3});
}
TEST_CASE("columns, then rows, in bf16") {
  as_on_threads<Of<Mlp, DataParallel<Sync>, ModelParallel<SplitColsRows>, Precision<bf16>, Momentum>>(1e-2, {1, 2, 4});
}
TEST_CASE("bf16: eight ranks have the bits of one, whose gradients are never sent and stay f32") {
  as_on_threads<Of<Mlp, DataParallel<Sync>, Precision<bf16>, AdamW>>(2e-2, {1, 8});
}
TEST_CASE("tf32: rows split, and a net of many layers") {
  as_on_threads<Of<Mlp, DataParallel<Sync>, ModelParallel<SplitRows>, Precision<tf32>, Momentum>>(1e-3, {1, 2, 3});
#ifndef __CUDACC__  // on a GPU the kernels of the others, and more code to compile
  as_on_threads<Of<Net, DataParallel<Sync>, Precision<tf32>>>(1e-3, {1, 4});
#endif
}
TEST_CASE("fp8: columns, then rows, and a net of many layers") {
  as_on_threads<Of<Mlp, DataParallel<Sync>, ModelParallel<SplitColsRows>, Precision<fp8>, Momentum>>(5e-2, {1, 2, 4});
  as_on_threads<Of<Net, DataParallel<Sync>, Precision<fp8>>>(5e-2, {1, 4});
}
TEST_CASE("batch cut over both axes") {
  as_on_threads<Of<Mlp, DataParallel<Sync>, ModelParallel<SplitBatch>, Nesterov>>(1e-6, {1, 2});
}
TEST_CASE("an operation of the user's own, by its definition") {
  as_on_threads<Of<Own, DataParallel<Sync>, Momentum>>(1e-6, {1, 3, 5});
}
