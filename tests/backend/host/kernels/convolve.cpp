// tests/backend/host/kernels/convolve.cpp - the host's convolution against its definition.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>

#include <cleave/backend/host/kernels/convolve.hpp>

#include "../compare.hpp"

namespace {

using namespace test;

template <class T, class Op, int B, int C, int H, int W> void check() {
  using E = tensor::accumulate_t<T>;
  using K = host::Kernel<Op>;
  CAPTURE(C);
  CAPTURE(H);
  CAPTURE(W);
  CAPTURE(Op::filters);
  CAPTURE(Op::kernel);
  CAPTURE(Op::stride);
  CAPTURE(Op::pad);
  constexpr Shape xs(C, H, W), ys = Op::output(xs), ws = Op::weight(0, xs).shape;
  constexpr op::Local L{B, B, xs, Shape(), ys, ws, Shape()};
  auto const x = numbers<T>(B * xs.size(), 1), w = numbers<T>(ws.size(), 2), dy = numbers<T>(B * ys.size(), 3);
  auto const bias = numbers<T>(ys[0], 4);
  auto y = dy, dx = x;
  std::vector<E> dw(w.size());
  op::Operands<T> t;
  t.x = x.data(), t.w0 = w.data(), t.dy = dy.data(), t.bias = bias.data();
  t.y = y.data(), t.dx = dx.data(), t.dw0 = dw.data();
  Op::template forward<L>(Serial{}, t);
  Op::template backward_input<L>(Serial{}, t);
  Op::template backward_weight<L>(Serial{}, t);
  auto const right_y = y, right_dx = dx;
  auto const right_dw = dw;

  Workspace const space;
  on_every_isa([&] {
    y = poisoned<T>(B * ys.size()), dx = poisoned<T>(B * xs.size()), dw = poisoned<E>(ws.size());
    t.y = y.data(), t.dx = dx.data(), t.dw0 = dw.data();
    K::template forward<L, false, void>(space, t);
    K::template backward_input<L>(space, t);
    K::template backward_weight<L>(space, t);
    CHECK(error(y, right_y, static_cast<double>(ws.size() / ws[0])) < 1);
    CHECK(error(dx, right_dx, static_cast<double>(ws[0] * ws[2] * ws[3])) < 1);
    CHECK(error(dw, right_dw, static_cast<double>(B * ys.stride(0))) < 1);

    auto ended = poisoned<T>(B * ys.size());
    t.y = ended.data();
    K::template forward<L, true, Relu>(space, t);
    if constexpr (std::is_same_v<T, E>) {
      for (std::size_t e = 0; e < y.size(); ++e) {
        long const o = static_cast<long>(e) / ys.stride(0) % ys[0];
        y[e] = Relu::forward(y[e] + bias[static_cast<std::size_t>(o)]);
      }
      CHECK(ended == y);
    }
  });
}

}  // namespace

TEST_CASE("host convolution: as nets have them") {
  check<f32, op::Convolve<20, 5, 1, 2>, 2, 3, 32, 32>();
  check<f32, op::Convolve<9, 5>, 3, 1, 28, 28>();
  check<f32, op::Convolve<40, 3, 1, 1>, 2, 67, 14, 14>();
}

TEST_CASE("host convolution: strides, groups, odd extents, wide padding") {
  check<f32, op::Convolve<7, 3, 2, 1>, 2, 5, 11, 13>();
  check<f32, op::Convolve<6, 3, 2, 1, 2>, 2, 4, 9, 10>();
  check<f32, op::Convolve<5, 2, 1, 3>, 2, 3, 7, 5>();
  check<f32, op::Convolve<5, 1, 3, 0>, 2, 3, 7, 5>();
  check<f32, op::Convolve<130, 5>, 1, 2, 5, 5>();
}

TEST_CASE("host convolution: windows with gaps, a filter for each channel") {
  using enum op::Start;
  check<f32, op::Convolve<7, 3, 1, 2, 1, He, 2>, 2, 5, 11, 13>();
  check<f32, op::Convolve<6, 3, 2, 1, 2, He, 3>, 2, 4, 13, 10>();
  check<f32, op::Convolve<5, 5, 1, 0, 1, He, 2>, 1, 3, 12, 9>();
  check<bf16, op::Convolve<18, 3, 2, 4, 1, He, 4>, 1, 20, 21, 30>();
  check<f32, op::Convolve<16, 3, 1, 1, 16>, 2, 16, 9, 9>();
  check<f32, op::Convolve<16, 3, 2, 1, 8, He, 2>, 2, 8, 9, 9>();
}

TEST_CASE("host convolution: bands of a large image, f64, bf16, tf32 and fp8") {
  check<f32, op::Convolve<3, 3, 1, 1>, 1, 2, 190, 260>();
  check<f64, op::Convolve<5, 3, 2, 1>, 2, 4, 9, 12>();
  check<bf16, op::Convolve<18, 3, 1, 1>, 1, 40, 21, 30>();
  check<tf32, op::Convolve<18, 3, 1, 1>, 1, 40, 21, 30>();
  check<tf32, op::Convolve<6, 3, 2, 1>, 2, 3, 9, 8>();
  check<fp8, op::Convolve<18, 3, 1, 1>, 1, 40, 21, 30>();
  check<fp8, op::Convolve<6, 3, 2, 1, 2>, 2, 4, 9, 10>();
}
