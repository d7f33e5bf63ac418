// backend/host/kernels/attention.hpp - attention on the host: blocks of queries and keys as products, a softmax that is merged.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>

#include "../../../op/attention.hpp"
#include "gemm.hpp"
#include "kernel.hpp"

namespace cleave::backend::host {

/// One head of one sample at a time, and back one group of them. No more is kept than a block of scores, whatever the
/// length of a sequence.
template <bool Causal, bool Padded> struct Kernel<op::Attend<Causal, Padded>> {
  using Op = op::Attend<Causal, Padded>;

  template <op::Local L, bool, class, class T> static void forward(Context c, op::Operands<T> const& t) {
    for (long n = 0; n < L.rows * Op::template OneHead<L>::heads; ++n) {
      each_block<L>([&]<int Rows>(Constant<Rows>, long q) { BlocksOfHead<L, T>{c, t, n}.template outputs<Rows>(q); });
    }
  }
  template <op::Local L, class T> static void backward_input(Context c, op::Operands<T> const& t) {
    if constexpr (Padded) op::Masked::clear_mask_gradient<L>(c, t);
    using Of = typename Op::template OneHead<L>;
    for (long n = 0; n < L.rows * Of::heads; n += Of::queries) {  // the first head of each group
      BlocksOfHead<L, T> const first{c, t, n};
      if constexpr (L.x[0] <= block<L>) {
        first.gradients();
      } else {
        for (int j = 0; j < Of::queries; ++j)
          each_block<L>([&]<int Rows>(Constant<Rows>, long q) { first.head(j).template of_queries<Rows>(q); });
        each_block<L>([&]<int Keys>(Constant<Keys>, long k) { first.template of_keys<Keys>(k); });
      }
    }
  }
  template <op::Local, class T> static void backward_weight(Context, op::Operands<T> const&) {}

 private:
  template <int N> using Constant = std::integral_constant<int, N>;
  /// Positions that are computed together: all of a short sequence.
  template <op::Local L> static constexpr int block = L.x[0] <= 128 ? L.x[0] : 64;
  template <op::Local L, class F> static void each_block(F f) {
    constexpr int positions = L.x[0], rest = positions % block<L>;
    for (long p = 0; p + block<L> <= positions; p += block<L>) f(Constant<block<L>>{}, p);
    if constexpr (rest > 0) f(Constant<rest>{}, long{positions - rest});
  }

  template <op::Local L, class T> struct BlocksOfHead {
    using A = tensor::accumulate_t<T>;
    using Of = typename Op::template OneHead<L>;
    static constexpr int most = block<L>, width = Of::width, lanes = 16;
    Context c;
    op::Operands<T> const& t;
    long number;  // of the head
    Of at;
    T const* mask;  // of the sample, if it has padding

    BlocksOfHead(Context context, op::Operands<T> const& operands, long n)
        : c(context), t(operands), number(n), at(n), mask(Of::mask(operands, n)) {}
    /// The j-th head from this one on.
    BlocksOfHead head(int j) const { return {c, t, number + j}; }

    /// Block (rows, keys) of query . key, unscaled.
    template <int R, int K> void scores(A* s, long q, long k) const {
      gemm<A, R, K, width>(c.workspace, stored_rows<Of::step>(t.x + at.query(q)),
                           stored_rows<Of::step>(t.x + at.key(k)), Store<A>{s, most});
    }
    /// The number of keys in the block from k on that query q reads.
    static int seen(long q, long k, int keys) {
      return Causal ? static_cast<int>(std::clamp<long>(q + 1 - k, 0, keys)) : keys;
    }
    /// Scores of padding, in a row of n from key k on, become `value`.
    void cover(A* row, int n, long k, A value) const {
      for (int i = 0; Padded && i < n; ++i) row[i] = Of::is_read(mask, k + i) ? row[i] : value;
    }
    static A largest(A const* s, int n, A top) {
      A line[lanes];
      std::fill_n(line, lanes, top);
      int k = 0;
      for (; k + lanes <= n; k += lanes)
        for (int i = 0; i < lanes; ++i) line[i] = s[k + i] > line[i] ? s[k + i] : line[i];
      for (; k < n; ++k) line[0] = s[k] > line[0] ? s[k] : line[0];
      for (A const v : line) top = v > top ? v : top;
      return top;
    }
    static A sum(A const* s, int n) {
      A line[lanes] = {}, all = 0;
      int k = 0;
      for (; k + lanes <= n; k += lanes)
        for (int i = 0; i < lanes; ++i) line[i] += s[k + i];
      for (; k < n; ++k) line[0] += s[k];
      for (A const v : line) all += v;
      return all;
    }

    template <int R> void outputs(long q) const {
      alignas(64) A s[most * most], y[R * width] = {};
      A top[R], total[R] = {};
      std::fill_n(top, R, -std::numeric_limits<A>::infinity());
      each_block<L>([&]<int K>(Constant<K>, long k) {
        if (seen(q + R - 1, k, K) == 0) return;
        scores<R, K>(s, q, k);
        for (int r = 0; r < R; ++r) {
          A* const row = s + r * most;
          int const n = seen(q + r, k, K);
          cover(row, n, k, -std::numeric_limits<A>::infinity());
          A const before = top[r], now = largest(row, n, before);
          if (n == 0 || (Padded && now == -std::numeric_limits<A>::infinity())) {
            std::fill_n(row, K, A{0});
            continue;
          }
          A const scale = Op::template scale<L, A>();
          tensor::each(n, [&](long i) { row[i] = tensor::exp((row[i] - now) * scale); });
          cover(row, n, k, A{0});
          std::fill(row + n, row + K, A{0});
          if (k > 0 && now > before) {
            A const shrunk = tensor::exp((before - now) * scale);
            total[r] *= shrunk;
            for (int d = 0; d < width; ++d) y[r * width + d] *= shrunk;
          }
          top[r] = now;
          total[r] += sum(row, n);
        }
        gemm<A, R, width, K, true>(c.workspace, stored_rows<most>(s), stored_columns<Of::step>(t.x + at.value(k)),
                                   Store<A>{y, width});
      });
      for (int r = 0; r < R; ++r) {
        T* const to = t.y + at.output(q + r);
        if (Padded && total[r] == A{0}) {  // it attends to nobody
          std::fill_n(to, width, static_cast<T>(A{0}));
          t.aux[at.sum(q + r)] = 0;
          continue;
        }
        for (int d = 0; d < width; ++d) to[d] = static_cast<T>(y[r * width + d] / total[r]);
        t.aux[at.sum(q + r)] = top[r] * Op::template scale<L, A>() + std::log(total[r]);
      }
    }

    /// The softmax p (rows, keys) again, and the gradient ds of the scores.
    template <int R, int K> void slopes(A* p, A* ds, long q, long k) const {
      scores<R, K>(p, q, k);
      gemm<A, R, K, width>(c.workspace, stored_rows<Of::stride>(t.dy + at.output(q)),
                           stored_rows<Of::step>(t.x + at.value(k)), Store<A>{ds, most});
      A const scale = Op::template scale<L, A>();
      for (int r = 0; r < R; ++r) {
        A *const row = p + r * most, *const slope = ds + r * most;
        int const n = seen(q + r, k, K);
        A const sums = t.aux[at.sum(q + r)],
                mean = Op::template dot<L, A>(t.dy + at.output(q + r), t.y + at.output(q + r));
        tensor::each(n, [&](long i) {
          row[i] = tensor::exp(row[i] * scale - sums);
          slope[i] = row[i] * (slope[i] - mean) * scale;
        });
        cover(row, n, k, A{0});
        cover(slope, n, k, A{0});
        std::fill(row + n, row + K, A{0});
        std::fill(slope + n, slope + K, A{0});
      }
    }
    template <int R, int K> void add_query(A* dq, A const* ds, long k) const {
      gemm<A, R, width, K, true>(c.workspace, stored_rows<most>(ds), stored_columns<Of::step>(t.x + at.key(k)),
                                 Store<A>{dq, width});
    }
    template <int R, int K> void add_key(A* dk, A* dv, A const* p, A const* ds, long q) const {
      gemm<A, K, width, R, true>(c.workspace, stored_columns<most>(ds), stored_columns<Of::step>(t.x + at.query(q)),
                                 Store<A>{dk, width});
      gemm<A, K, width, R, true>(c.workspace, stored_columns<most>(p), stored_columns<Of::stride>(t.dy + at.output(q)),
                                 Store<A>{dv, width});
    }
    static void store(T* to, A const* from, int count) {
      for (int r = 0; r < count; ++r)
        for (int d = 0; d < width; ++d) to[r * Of::step + d] = static_cast<T>(from[r * width + d]);
    }

    template <int R> void of_queries(long q) const {
      alignas(64) A p[most * most], ds[most * most], dq[R * width] = {};
      each_block<L>([&]<int K>(Constant<K>, long k) {
        if (seen(q + R - 1, k, K) == 0) return;
        slopes<R, K>(p, ds, q, k);
        add_query<R, K>(dq, ds, k);
      });
      store(t.dx + at.query(q), dq, R);
    }
    /// Of the group whose first head this is, in which one head after the other adds its gradients.
    template <int K> void of_keys(long k) const {
      alignas(64) A p[most * most], ds[most * most], dk[K * width] = {}, dv[K * width] = {};
      for (int j = 0; j < Of::queries; ++j) {
        BlocksOfHead const one = head(j);
        each_block<L>([&]<int R>(Constant<R>, long q) {
          if (seen(q + R - 1, k, K) == 0) return;
          one.template slopes<R, K>(p, ds, q, k);
          one.template add_key<R, K>(dk, dv, p, ds, q);
        });
      }
      store(t.dx + at.key(k), dk, K);
      store(t.dx + at.value(k), dv, K);
    }
    /// Of a sequence of one block, and of this group.
    void gradients() const {
      alignas(64) A p[most * most], ds[most * most], dk[most * width] = {}, dv[most * width] = {};
      for (int j = 0; j < Of::queries; ++j) {
        alignas(64) A dq[most * width] = {};
        BlocksOfHead const one = head(j);
        one.template slopes<most, most>(p, ds, 0, 0);
        one.template add_query<most, most>(dq, ds, 0);
        one.template add_key<most, most>(dk, dv, p, ds, 0);
        store(t.dx + one.at.query(0), dq, most);
      }
      store(t.dx + at.key(0), dk, most);
      store(t.dx + at.value(0), dv, most);
    }
  };
};

}  // namespace cleave::backend::host
