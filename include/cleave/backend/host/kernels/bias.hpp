// backend/host/kernels/bias.hpp - a bias's gradient, the sum over rows and positions, in sixteen interleaved chains.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../../../op/bias.hpp"
#include "../../../tensor/each.hpp"
#include "kernel.hpp"

namespace cleave::backend::host {

template <> struct Kernel<op::Bias> {
  template <op::Local L, bool, class, class T> static void forward(Context c, op::Operands<T> const& t) {
    op::Bias::forward<L>(c, t);
  }
  template <op::Local L, class T> static void backward_input(Context c, op::Operands<T> const& t) {
    op::Bias::backward_input<L>(c, t);
  }
  template <op::Local L, class T> static void backward_weight(Context, op::Operands<T> const& t) {
    using A = tensor::accumulate_t<T>;
    constexpr long below = L.y.stride(0), size = L.y.size(), n = L.w0[0];
    A* const sum = t.dw0;
    if constexpr (below == 1) {
      for (long o = 0; o < n; ++o) sum[o] = 0;
      for (long b = 0; b < L.rows; ++b) {
        T const* const dy = t.dy + b * n;
        tensor::each(n, [&](long o) { sum[o] += static_cast<A>(dy[o]); });
      }
    } else {
      constexpr int chains = 16;
      for (long o = 0; o < n; ++o) {
        A chain[chains] = {};
        A rest = 0;
        for (long b = 0; b < L.rows; ++b) {
          T const* const dy = t.dy + b * size + o * below;
          long i = 0;
          for (; i + chains <= below; i += chains) {
            for (int k = 0; k < chains; ++k) chain[k] += static_cast<A>(dy[i + k]);
          }
          for (; i < below; ++i) rest += static_cast<A>(dy[i]);
        }
        for (A const c : chain) rest += c;
        sum[o] = rest;
      }
    }
  }
};

}  // namespace cleave::backend::host
