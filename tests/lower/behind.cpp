// lower/behind.cpp - operations of the user's own behind others: those that go along, and those that must not.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "../train/on_device.hpp"

using namespace cleave;
using namespace cleave::testing;

namespace {

/// In place, but in a loop over samples: not pointwise.
struct ScaleRows : op::Base {
  static constexpr auto name = "scale_rows";
  static constexpr auto equation = "b*->b*";
  static constexpr bool elementwise = true;
  static constexpr Shape output(Shape x) { return x; }
  template <op::Local L, class Ctx, class T> CLEAVE_HD static void forward(Ctx ctx, op::Operands<T> const& t) {
    ctx.each(L.rows, [&](long b) {
      for (long i = 0; i < L.y.size(); ++i) t.y[b * L.y.size() + i] = 2 * t.x[b * L.y.size() + i];
    });
  }
  template <op::Local L, class Ctx, class T> CLEAVE_HD static void backward_input(Ctx ctx, op::Operands<T> const& t) {
    ctx.each(L.rows, [&](long b) {
      for (long i = 0; i < L.y.size(); ++i) t.dx[b * L.y.size() + i] = 2 * t.dy[b * L.y.size() + i];
    });
  }
};
/// Counts steps in a second loop.
struct CountSteps : op::Base {
  static constexpr auto name = "count_steps";
  static constexpr auto equation = "b*->b*";
  static constexpr bool elementwise = true;
  static constexpr int states = 1;
  static constexpr Shape output(Shape x) { return x; }
  static constexpr Shape state(Shape) { return Shape(1); }
  template <op::Local L, class Ctx, class T> CLEAVE_HD static void forward(Ctx ctx, op::Operands<T> const& t) {
    ctx.each(L.rows * L.y.size(), [&](long e) { t.y[e] = t.x[e]; });
    if (t.pass->training && t.where.first_slice) ctx.each(1, [&](long i) { t.state0[i] += 1; });
  }
  template <op::Local L, class Ctx, class T> CLEAVE_HD static void backward_input(Ctx ctx, op::Operands<T> const& t) {
    ctx.each(L.rows * L.y.size(), [&](long e) { t.dx[e] = t.dy[e]; });
  }
};
template <bool HasKernel> struct Double : op::Base {
  static constexpr auto name = "double";
  static constexpr auto equation = "b*->b*";
  static constexpr bool elementwise = true, pointwise = true;
  static constexpr Shape output(Shape x) { return x; }
  template <op::Local L, class Ctx, class T> CLEAVE_HD static void forward(Ctx ctx, op::Operands<T> const& t) {
    ctx.each(L.rows * L.y.size(), [&](long e) { t.y[e] = 2 * t.x[e]; });
  }
  template <op::Local L, class Ctx, class T> CLEAVE_HD static void backward_input(Ctx ctx, op::Operands<T> const& t) {
    ctx.each(L.rows * L.y.size(), [&](long e) { t.dx[e] = 2 * t.dy[e]; });
  }
};
template <op::Local L, class T, bool Forward> struct DoubleOneSlice : backend::gpu::Each {
  using Args = op::Operands<T>;
  template <class Ctx> CLEAVE_HD static void run(Ctx const& c, Args const& t) {
    if constexpr (Forward) {
      Double<true>::forward<L>(c, t);
    } else {
      Double<true>::backward_input<L>(c, t);
    }
  }
};

}  // namespace

/// A kernel of the user's own that is put once for each slice: it does not say takes_slices.
template <> struct cleave::backend::gpu::Kernel<Double<true>> {
  template <op::Local L, bool, class, class T, class Q> static void forward(Q q, op::Operands<T> const& t) {
    q.template launch<DoubleOneSlice<L, T, true>>(1, t);
  }
  template <op::Local L, class T, class Q> static void backward_input(Q q, op::Operands<T> const& t) {
    q.template launch<DoubleOneSlice<L, T, false>>(1, t);
  }
  template <op::Local L, class T, class Q> static void backward_weight(Q, op::Operands<T> const&) {}
};

namespace {

template <class Op> using Behind = layer::Chain<Op>;
struct Rows : Sequential<Vector<20>, Linear<8>, Behind<ScaleRows>, Tanh, Linear<4>, CrossEntropy> {};
struct States : Sequential<Vector<20>, Linear<8>, Behind<CountSteps>, Tanh, Linear<4>, CrossEntropy> {};
struct OwnKernel : Sequential<Image<2, 6, 6>, MaxPool<2>, Behind<Double<true>>, Linear<8>, Behind<Double<true>>,
                              Linear<4>, CrossEntropy> {};
struct GoesAlong : Sequential<Vector<20>, Linear<8>, Behind<Double<false>>, Dropout<20>, Linear<4>, CrossEntropy> {};
static_assert(Of<GoesAlong>::schedule.forward_tail[0] == 2);
static_assert(Of<Rows>::schedule.forward_tail[0] == 0);

}  // namespace

TEST_CASE("an operation that is not element by element, or keeps a state, runs by itself") {
  as_on_threads<Of<Rows, DataParallel<Sync>>>(1e-6, {1, 2});
  as_on_threads<Of<States, DataParallel<Sync>, Momentum>>(1e-6, {1, 2});
}
TEST_CASE("one with a kernel of the user's own runs by that, slice by slice") {
  as_on_threads<Of<OwnKernel, DataParallel<Sync>>>(1e-6, {1, 2});
}
TEST_CASE("one that is goes along") { as_on_threads<Of<GoesAlong, DataParallel<Sync>>>(1e-6, {1, 3}); }
