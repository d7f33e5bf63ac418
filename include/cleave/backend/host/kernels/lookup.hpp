// backend/host/kernels/lookup.hpp - rows of a table on the host: copied and added whole, where the definition goes by columns.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../../../op/lookup.hpp"
#include "kernel.hpp"

namespace cleave::backend::host {

/// Same results as the definition, bit for bit.
template <int Vocabulary, int Features, bool Sparse, bool Numbers>
struct Kernel<op::Lookup<Vocabulary, Features, Sparse, Numbers>> {
  using Op = op::Lookup<Vocabulary, Features, Sparse, Numbers>;
  template <op::Local L, bool, class, class T> static void forward(Context c, op::Operands<T> const& t) {
    Op::template forward<L>(c, t);
  }
  template <op::Local L, class T> static void backward_input(Context c, op::Operands<T> const& t) {
    Op::template backward_input<L>(c, t);
  }
  template <op::Local L, class T> static void backward_weight(Context, op::Operands<T> const& t) {
    using A = tensor::accumulate_t<T>;
    A* const dw = t.dw0;
    tensor::each(long{Vocabulary} * Features, [&](long e) { dw[e] = 0; });
    for (long k = 0; k < L.rows * L.x.size(); ++k) {
      long const row = Op::row(t, k);
      if (row < 0 || row >= Vocabulary) continue;
      A* const to = dw + row * Features;
      T const* const dy = t.dy + k * Features;
      tensor::each(Features, [&](long f) { to[f] += static_cast<A>(dy[f]); });
    }
  }
};

}  // namespace cleave::backend::host
