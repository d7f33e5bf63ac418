// op/response_norm.hpp - y = x / (k + alpha/n sum of squares over n neighbouring channels)^beta; channels stay whole.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cmath>

#include "../meta/host_device.hpp"
#include "operands.hpp"

namespace cleave::op {

/// Source: Krizhevsky, Sutskever, Hinton, "ImageNet classification with deep convolutional neural networks", 2012,
/// section 3.3, with alpha divided by the number of channels as in other libraries.
template <int Channels, class Constants> struct ResponseNorm : Base {
  static constexpr auto name = "local_response_norm";
  static constexpr auto equation = "bCh*->bCh*";
  static constexpr bool reads_x = true, reads_y = true;
  static constexpr int before = Channels / 2, after = (Channels - 1) / 2;
  static constexpr Shape output(Shape x) { return x; }
  static constexpr long aux(Shape, Shape y) { return y.size(); }  // k + alpha/n sum

  template <Local L, class Ctx, class T> CLEAVE_HD static void forward(Ctx ctx, Operands<T> const& t) {
    using A = tensor::accumulate_t<T>;
    constexpr long below = L.x.stride(0);
    ctx.each(L.rows * L.x.size(), [&](long e) {
      int const c = static_cast<int>(e / below % L.x[0]);
      A sum = 0;
      for (int d = c < before ? -c : -before; d <= after && c + d < L.x[0]; ++d) {
        A const v = static_cast<A>(t.x[e + d * below]);
        sum += v * v;
      }
      t.aux[e] = static_cast<A>(Constants::k) + static_cast<A>(Constants::alpha) / A{Channels} * sum;
      t.y[e] = static_cast<T>(static_cast<A>(t.x[e]) * std::pow(t.aux[e], -static_cast<A>(Constants::beta)));
    });
  }
  template <Local L, class Ctx, class T> CLEAVE_HD static void backward_input(Ctx ctx, Operands<T> const& t) {
    using A = tensor::accumulate_t<T>;
    constexpr long below = L.x.stride(0);
    ctx.each(L.rows * L.x.size(), [&](long e) {
      int const c = static_cast<int>(e / below % L.x[0]);
      A sum = 0;  // over the channels whose neighbourhood holds c
      for (int d = c < after ? -c : -after; d <= before && c + d < L.x[0]; ++d) {
        long const o = e + d * below;
        sum += static_cast<A>(t.dy[o]) * static_cast<A>(t.y[o]) / t.aux[o];
      }
      A const scale = A{2} * static_cast<A>(Constants::alpha * Constants::beta) / A{Channels};
      t.dx[e] = static_cast<T>(static_cast<A>(t.dy[e]) * std::pow(t.aux[e], -static_cast<A>(Constants::beta)) -
                               scale * static_cast<A>(t.x[e]) * sum);
    });
  }
};

}  // namespace cleave::op
