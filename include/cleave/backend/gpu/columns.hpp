// backend/gpu/columns.hpp - sums over the batch for each feature or channel: gradients of biases, scales and statistics.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../../op/batch_norm.hpp"
#include "../../op/bias.hpp"
#include "rows.hpp"

namespace cleave::backend::gpu {

template <class A> struct Two { A first, second; };

// A case says what is summed: for each of `outputs`, over `terms`, term(args, o, r) -> Two; then done(args, o, sums).
// `Below` elements of an output lie side by side before the next output begins (1: outputs are neighbours).

/// Outputs are neighbours: 32 of them across a warp, the warps deal out the terms.
template <class Case> struct SumAcross {
  using Args = typename Case::Args;
  using A = typename Case::A;
  static constexpr int warps = 8, threads = warps * lanes, shared_bytes = threads * static_cast<int>(sizeof(Two<A>));
  static constexpr bool alone = false;
  static constexpr int blocks = blocks_for(Case::outputs, lanes);
  template <class Ctx> CLEAVE_HD static void run(Ctx const& c, Args const& t) {
    auto* const line = reinterpret_cast<Two<A>*>(c.shared());
    int const o = c.block() * lanes + c.thread() % lanes, warp = c.thread() / lanes;
    Two<A> sum{0, 0};
    for (long r = warp; o < Case::outputs && r < Case::terms; r += warps) {
      Two<A> const v = Case::term(t, o, r);
      sum.first += v.first;
      sum.second += v.second;
    }
    line[c.thread()] = sum;
    c.barrier();
    if (warp != 0 || o >= Case::outputs) return;
    for (int w = 1; w < warps; ++w) {
      sum.first += line[w * lanes + c.thread()].first;
      sum.second += line[w * lanes + c.thread()].second;
    }
    Case::done(t, o, sum);
  }
};

/// Terms are neighbours: a block for each output.
template <class Case> struct SumAlong {
  using Args = typename Case::Args;
  using A = typename Case::A;
  static constexpr int threads = 256, shared_bytes = 16 * static_cast<int>(sizeof(A));
  static constexpr bool alone = false;
  static constexpr int blocks = Case::outputs;
  template <class Ctx> CLEAVE_HD static void run(Ctx const& c, Args const& t) {
    auto* const line = reinterpret_cast<A*>(c.shared());
    Two<A> sum{0, 0};
    for (long r = c.thread(); r < Case::terms; r += threads) {
      Two<A> const v = Case::term(t, c.block(), r);
      sum.first += v.first;
      sum.second += v.second;
    }
    sum.first = over_block<Sum>(c, sum.first, line);
    sum.second = over_block<Sum>(c, sum.second, line + 8);
    if (c.thread() == 0) Case::done(t, c.block(), sum);
  }
};
template <class Case> using Summed = std::conditional_t<Case::below == 1, SumAcross<Case>, SumAlong<Case>>;

/// Element r of output o, of a tensor (rows, outputs, below).
template <class Case> CLEAVE_HD long element(int o, long r) {
  return (r / Case::below * Case::outputs + o) * Case::below + r % Case::below;
}

template <op::Local L, class T> struct BiasSum {
  using Args = op::Operands<T>;
  using A = tensor::accumulate_t<T>;
  static constexpr int outputs = L.w0[0];
  static constexpr long below = L.y.stride(0), terms = L.rows * below;
  CLEAVE_HD static Two<A> term(Args const& t, int o, long r) {
    return {static_cast<A>(t.dy[element<BiasSum>(o, r)]), A{0}};
  }
  CLEAVE_HD static void done(Args const& t, int o, Two<A> s) { t.dw0[o] = s.first; }
};

template <op::Local L, class T> struct LayerNormSum {
  using Args = op::Operands<T>;
  using A = tensor::accumulate_t<T>;
  static constexpr int outputs = static_cast<int>(L.x.size());
  static constexpr long below = 1, terms = L.rows;
  CLEAVE_HD static Two<A> term(Args const& t, int i, long b) {
    A const dy = static_cast<A>(t.dy[b * outputs + i]);
    return {dy * (static_cast<A>(t.x[b * outputs + i]) - t.aux[2 * b]) * t.aux[2 * b + 1], dy};
  }
  CLEAVE_HD static void done(Args const& t, int i, Two<A> s) { t.dw0[i] = s.first, t.dw1[i] = s.second; }
};

template <op::Local L, class T> struct BatchSum {
  using Args = op::Operands<T>;
  using A = tensor::accumulate_t<T>;
  static constexpr int outputs = L.x[0];
  static constexpr long below = L.x.stride(0), terms = L.rows * below;
  CLEAVE_HD static Two<A> term(Args const& t, int c, long r) {
    A const v = static_cast<A>(t.x[element<BatchSum>(c, r)]);
    return {v, v * v};
  }
  CLEAVE_HD static void done(Args const& t, int c, Two<A> s) { t.stats[c] = s.first, t.stats[outputs + c] = s.second; }
};

template <op::Local L, class T> struct NormaliseSum {
  using Args = op::Operands<T>;
  using A = tensor::accumulate_t<T>;
  static constexpr int outputs = L.x[0];
  static constexpr long below = L.x.stride(0), terms = L.rows * below;
  CLEAVE_HD static Two<A> term(Args const& t, int c, long r) {
    auto const m = op::Normalise::moments<L>(t, c);
    long const e = element<NormaliseSum>(c, r);
    A const dy = static_cast<A>(t.dy[e]);
    return {dy, dy * (static_cast<A>(t.x[e]) - m.mean) * m.inverse};
  }
  CLEAVE_HD static void done(Args const& t, int c, Two<A> s) { op::Normalise::gradients<L>(t, c, s.first, s.second); }
};

template <class Case, class Q> void sum_columns(Q q, typename Case::Args const& t) {
  using K = Summed<Case>;
  q.template launch<K>(K::blocks, t);
}

/// y, or the part of dx that does not pass through the sums, element by element.
template <op::Local L, bool Forward, class T> struct NormaliseEach {
  using Args = op::Operands<T>;
  static constexpr int threads = 256, shared_bytes = 0;
  static constexpr bool alone = true;
  template <class Ctx> CLEAVE_HD static void run(Ctx const& ctx, Args const& t) {
    using A = tensor::accumulate_t<T>;
    ctx.each(L.rows * L.x.size(), [&](long e) {
      long const c = e / L.x.stride(0) % L.x[0];
      auto const m = op::Normalise::moments<L>(t, c);
      A const scale = m.inverse * static_cast<A>(t.w0[c]);
      if constexpr (Forward) {
        t.y[e] = static_cast<T>((static_cast<A>(t.x[e]) - m.mean) * scale + static_cast<A>(t.w1[c]));
      } else {
        t.dx[e] = static_cast<T>(static_cast<A>(t.dy[e]) * scale);
      }
    });
    if constexpr (Forward) {
      if (t.pass->training && t.where.first_slice) op::Normalise::keep<L>(ctx, t);
    }
  }
};

template <> struct Kernel<op::Bias> : ByDefinition<op::Bias> {
  template <op::Local L, class T, class Q> static void backward_weight(Q q, op::Operands<T> const& t) {
    sum_columns<BiasSum<L, T>>(q, t);
  }
};
template <> struct Kernel<op::LayerNorm> : ByDefinition<op::LayerNorm> {
  template <op::Local L, bool, class, class T, class Q> static void forward(Q q, op::Operands<T> const& t) {
    q.template launch<LayerNormRows<L, true, T>>(LayerNormRows<L, true, T>::blocks, t);
  }
  template <op::Local L, class T, class Q> static void backward_input(Q q, op::Operands<T> const& t) {
    q.template launch<LayerNormRows<L, false, T>>(LayerNormRows<L, false, T>::blocks, t);
  }
  template <op::Local L, class T, class Q> static void backward_weight(Q q, op::Operands<T> const& t) {
    sum_columns<LayerNormSum<L, T>>(q, t);
  }
};
template <> struct Kernel<op::BatchSums> : ByDefinition<op::BatchSums> {
  template <op::Local L, bool, class, class T, class Q> static void forward(Q q, op::Operands<T> const& t) {
    sum_columns<BatchSum<L, T>>(q, t);
  }
};
template <> struct Kernel<op::Normalise> : ByDefinition<op::Normalise> {
  template <op::Local L, bool, class, class T, class Q> static void forward(Q q, op::Operands<T> const& t) {
    q.template launch<NormaliseEach<L, true, T>>(blocks_each(L.rows * L.x.size()), t);
  }
  template <op::Local L, class T, class Q> static void backward_input(Q q, op::Operands<T> const& t) {
    q.template launch<NormaliseEach<L, false, T>>(blocks_each(L.rows * L.x.size()), t);
  }
  template <op::Local L, class T, class Q> static void backward_weight(Q q, op::Operands<T> const& t) {
    sum_columns<NormaliseSum<L, T>>(q, t);
  }
};

}  // namespace cleave::backend::gpu
