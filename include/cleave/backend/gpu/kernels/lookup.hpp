// backend/gpu/kernels/lookup.hpp - the gradient of an embedding table on a device: each element searches for its tokens.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../../../op/lookup.hpp"
#include "kernel.hpp"

namespace cleave::backend::gpu {

/// Several threads for each row, each with several features, so that few threads read all tokens. Sums are in the order
/// of the tokens, as in the definition: the same bits.
template <class Op, op::Local L, class T> struct LookupSum {
  using Args = Summing<T>;
  static constexpr int threads = 256, shared_bytes = 0;
  static constexpr bool alone = true;
  static constexpr int features = L.w0[1], of_thread = 16;
  static constexpr int wide = features <= lanes              ? features
                              : features < lanes * of_thread ? lanes
                                                             : (features + of_thread - 1) / of_thread;  // threads a row
  static constexpr int each = (features + wide - 1) / wide;
  static constexpr long items = long{L.w0[0]} * wide;
  template <class Ctx> CLEAVE_HD static void run(Ctx const& c, Args const& t) {
    using A = tensor::accumulate_t<T>;
    constexpr long tokens = L.rows * L.x.size();
    c.each(items, [&](long e) {
      long const row = e / wide, first = e % wide, token = row < t.where.rows ? t.where.row + row : Op::elsewhere;
      Turn<T> turn(t.to);
      for (int s = 0; s < t.slices; ++s) {
        A sum[each]{};
        auto const every = [&](auto f) {
          CLEAVE_UNROLL
          for (int i = 0; i < each; ++i) {
            if (first + i * wide < features) f(first + i * wide, sum[i]);
          }
        };
        for (long k = s * tokens; k < (s + 1) * tokens; ++k) {
          if (t.tokens[k] == token) every([&](long f, A& v) { v += static_cast<A>(t.dy[k * features + f]); });
        }
        turn.put(weights(t.to.dw0, [&](auto f) { every([&](long at, A& v) { f(row * features + at, v); }); }));
      }
    });
  }
};

template <int Vocabulary, int Features, bool Sparse, bool Split>
struct Kernel<op::Lookup<Vocabulary, Features, Sparse, false, Split>>
    : ByDefinition<op::Lookup<Vocabulary, Features, Sparse, false, Split>> {
  static constexpr bool sums_slices = true;
  template <op::Local L, class T, class Q> static void sum(Q q, Summing<T> const& t) {
    using K = LookupSum<op::Lookup<Vocabulary, Features, Sparse, false, Split>, L, T>;
    q.template launch<K>(blocks_each(K::items), t);
  }
  template <op::Local L, class T, class Q> static void backward_weight(Q q, op::Operands<T> const& t) {
    sum<L, T>(q, one_slice(t));
  }
};

}  // namespace cleave::backend::gpu
