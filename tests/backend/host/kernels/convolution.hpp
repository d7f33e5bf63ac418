// backend/host/kernels/convolution.hpp - the host's kernels of a convolution, or a transposed one, against its definition.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <doctest/doctest.h>

#include <cleave/backend/host/kernels/transposed_convolve.hpp>

#include "../compare.hpp"

namespace test {

template <class T, class Op, int B, int C, int H, int W> void check_convolution() {
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
  constexpr long over_first = ws[0] * ws[2] * ws[3], over_second = ws.size() / ws[0];  // terms of a sum
  constexpr bool transposed = Op::windows.transposed;
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
    CHECK(error(y, right_y, static_cast<double>(transposed ? over_first : over_second)) < 1);
    CHECK(error(dx, right_dx, static_cast<double>(transposed ? over_second : over_first)) < 1);
    CHECK(error(dw, right_dw, static_cast<double>(B * (transposed ? xs : ys).stride(0))) < 1);

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

}  // namespace test
