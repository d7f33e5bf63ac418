// backend/gpu/lookup.hpp - the gradient of a table of rows on a device: each element of it looks for its tokens.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../../op/lookup.hpp"
#include "kernel.hpp"

namespace cleave::backend::gpu {

/// In the order of the tokens, as the definition: the same bits.
template <class Op, op::Local L, class T> struct LookupSum {
  using Args = Summing<T>;
  static constexpr int threads = 256, shared_bytes = 0;
  static constexpr bool alone = true;
  template <class Ctx> CLEAVE_HD static void run(Ctx const& c, Args const& t) {
    using A = tensor::accumulate_t<T>;
    constexpr long tokens = L.rows * L.x.size(), features = L.w0[1];
    c.each(L.w0.size(), [&](long e) {
      Turn<T> turn(t.to);
      for (int s = 0; s < t.slices; ++s) {
        A sum = 0;
        for (long k = s * tokens; k < (s + 1) * tokens; ++k) {
          if (Op::row(t.x[k]) == e / features) sum += static_cast<A>(t.dy[k * features + e % features]);
        }
        turn.put(weights(t.to.dw0, [&](auto f) { f(e, sum); }));
      }
    });
  }
};

template <int Vocabulary, int Features, bool Sparse>
struct Kernel<op::Lookup<Vocabulary, Features, Sparse>> : ByDefinition<op::Lookup<Vocabulary, Features, Sparse>> {
  static constexpr bool sums_slices = true;
  template <op::Local L, class T, class Q> static void sum(Q q, Summing<T> const& t) {
    using K = LookupSum<op::Lookup<Vocabulary, Features, Sparse>, L, T>;
    q.template launch<K>(blocks_each(L.w0.size()), t);
  }
  template <op::Local L, class T, class Q> static void backward_weight(Q q, op::Operands<T> const& t) {
    sum<L, T>(q, one_slice(t));
  }
};

}  // namespace cleave::backend::gpu
