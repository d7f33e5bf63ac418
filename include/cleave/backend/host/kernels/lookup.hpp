// backend/host/kernels/lookup.hpp - rows of a table on the host: copied and added whole, where the definition goes by columns.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../../../op/lookup.hpp"
#include "kernel.hpp"

namespace cleave::backend::host {

/// Adds dy of each token to the row of its gradient.
template <class Op, op::Local L, class T> void add_rows(op::Operands<T> const& t) {
  constexpr long features = L.w0[1];
  for (long k = 0; k < L.rows * L.y[0]; ++k) {
    long const row = Op::template row<L>(t, k);
    if (row < 0) continue;
    auto* const to = t.dw0 + row * features;
    T const* const dy = t.dy + k * features;
    tensor::each(features, [&](long f) { to[f] += static_cast<tensor::accumulate_t<T>>(dy[f]); });
  }
}

/// Same results as the definition, bit for bit.
template <int Vocabulary, int Features, bool Sparse, bool Numbers, bool Split>
struct Kernel<op::Lookup<Vocabulary, Features, Sparse, Numbers, Split>> {
  using Op = op::Lookup<Vocabulary, Features, Sparse, Numbers, Split>;
  template <op::Local L, bool, class, class T> static void forward(Context c, op::Operands<T> const& t) {
    Op::template forward<L>(c, t);
  }
  template <op::Local L, class T> static void backward_input(Context c, op::Operands<T> const& t) {
    Op::template backward_input<L>(c, t);
  }
  template <op::Local L, class T> static void backward_weight(Context, op::Operands<T> const& t) {
    using A = tensor::accumulate_t<T>;
    A* const dw = t.dw0;
    tensor::each(L.w0.size(), [&](long e) { dw[e] = 0; });
    add_rows<Op, L>(t);
  }
};

}  // namespace cleave::backend::host
