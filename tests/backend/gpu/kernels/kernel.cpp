// backend/gpu/kernels/kernel.cpp - what has no kernel of its own runs by its definition, over all threads of a device.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cleave/backend/gpu/kernels/kernel.hpp>
#include <cleave/layer/activation.hpp>
#include <cleave/op/dropout.hpp>
#include <cleave/op/join.hpp>
#include <cleave/op/loss.hpp>
#include <cleave/op/pool.hpp>
#include <cleave/op/response_norm.hpp>

#include "../compare.hpp"

using namespace cleave;
using namespace cleave::testing;

struct Usual {
  static constexpr double k = 2, alpha = 1e-2, beta = 0.75;
};

/// Its loop's length stands in no tensor's extents, and it reads beside its loop.
struct Shifted : op::Base {
  static constexpr auto name = "shifted";
  static constexpr auto equation = "bo*->bo*";
  static constexpr bool reads_x = true;
  static constexpr Shape output(Shape x) { return x; }
  template <op::Local L, class Ctx, class T> CLEAVE_HD static void forward(Ctx ctx, op::Operands<T> const& t) {
    T const first = t.x[0];
    ctx.each(L.rows * L.y.size(), [&](long e) { t.y[e] = t.x[e] - first; });
  }
  template <op::Local L, class Ctx, class T> CLEAVE_HD static void backward_input(Ctx ctx, op::Operands<T> const& t) {
    T const first = t.dy[0];
    ctx.each(7 * L.rows * L.y.size(), [&](long e) {
      if (e % 7 == 0) t.dx[e / 7] = t.dy[e / 7] - first;
    });
  }
};

TEST_CASE("an operation that reads beside its loops is not run on the host, where its tensors are not") {
  constexpr auto l = local<Shifted>(5, Shape(77));
  op::Operands<float> nowhere;  // as a device's memory is to the host
  CHECK(backend::gpu::Defined<Shifted, l, backend::gpu::Part::Forward, float>::blocks(nowhere) == 2);
  compare<Shifted, l, float>(1e-6);
}
TEST_CASE("maps, dropout, pools, response normalisation, joins, squared error") {
  compare_all<op::Map<layer::GeluFunction>, local<op::Map<layer::GeluFunction>>(5, Shape(77))>();
  compare_all<op::Map<layer::SigmoidFunction>, local<op::Map<layer::SigmoidFunction>>(5, Shape(3, 5, 7))>();
  compare_all<op::Drop<30>, local<op::Drop<30>>(5, Shape(77))>();
  compare_all<op::MaxWindow<3, 2, 1>, local<op::MaxWindow<3, 2, 1>>(2, Shape(3, 9, 7))>();
  compare_all<op::ChannelMean, local<op::ChannelMean>(2, Shape(3, 4, 5))>();
  compare_all<op::MeanWindow<2>, local<op::MeanWindow<2>>(2, Shape(3, 8, 6))>();
  compare_all<op::ResponseNorm<5, Usual>, local<op::ResponseNorm<5, Usual>>(2, Shape(7, 3, 3))>();
  compare_all<op::Add, local<op::Add>(3, Shape(17), Shape(17))>();
  compare_all<op::Multiply, local<op::Multiply>(3, Shape(17), Shape(17))>();
  compare_all<op::Multiply, local<op::Multiply>(3, Shape(5, 7, 3), Shape(5))>();
  compare_all<op::Concatenate, local<op::Concatenate>(3, Shape(2, 3, 3), Shape(4, 3, 3))>();
  compare_all<op::SquaredError, local<op::SquaredError>(9, Shape(13))>();
}
