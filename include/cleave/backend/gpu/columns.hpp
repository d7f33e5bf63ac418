// backend/gpu/columns.hpp - sums over the batch for each feature or channel: gradients of biases, scales and statistics.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../../op/batch_norm.hpp"
#include "../../op/bias.hpp"
#include "rows.hpp"

namespace cleave::backend::gpu {

template <class A> struct Two { A first, second; };

// A case says what is summed: for each of `outputs`, over `terms`, term(args, o, r) -> Two; then done(args, o, sums).
// `below` elements of an output lie side by side before the next output begins (1: outputs are neighbours).
// Where outputs are too few to fill a device, their terms are cut into parts: blocks then leave sums of parts, which
// one more kernel joins in their order.

template <class Case> struct Cut {
  static constexpr bool across = Case::below == 1;
  static constexpr int blocks = across ? blocks_for(Case::outputs, lanes) : Case::outputs;
  static constexpr long least = across ? 64 : 4096;  // terms that are worth a part
  static constexpr int parts_wanted = blocks >= 264 ? 1 : 264 / blocks;
  static constexpr int parts_there = static_cast<int>(Case::terms / least < 1    ? 1
                                                      : Case::terms / least > 64 ? 64
                                                                                 : Case::terms / least);
  static constexpr int parts = parts_wanted < parts_there ? parts_wanted : parts_there;
  static constexpr long each = (Case::terms + parts - 1) / parts;
  CLEAVE_HD static int part_of(int block) { return parts == 1 ? 0 : block / blocks; }
  CLEAVE_HD static int place_of(int block) { return parts == 1 ? block : block % blocks; }
  CLEAVE_HD static long end(long begin) {
    return parts == 1 || begin + each > Case::terms ? Case::terms : begin + each;
  }
};
template <class Case> struct SumArgs {
  typename Case::Args of;
  Two<typename Case::A>* parts;  // (parts, outputs)
};
template <class Case> CLEAVE_HD void leave(SumArgs<Case> const& a, int part, int o, Two<typename Case::A> sum) {
  if constexpr (Cut<Case>::parts == 1) {
    Case::done(a.of, o, sum);
  } else {
    a.parts[long{part} * Case::outputs + o] = sum;
  }
}

/// Outputs are neighbours: 32 of them across a warp, the warps deal out the terms.
template <class Case> struct SumAcross {
  using Args = SumArgs<Case>;
  using A = typename Case::A;
  static constexpr int warps = 8, threads = warps * lanes, shared_bytes = threads * static_cast<int>(sizeof(Two<A>));
  static constexpr bool alone = false;
  static constexpr int blocks = Cut<Case>::blocks * Cut<Case>::parts;
  template <class Ctx> CLEAVE_HD static void run(Ctx const& c, Args const& a) {
    auto* const line = reinterpret_cast<Two<A>*>(c.shared());
    int const part = Cut<Case>::part_of(c.block()), warp = c.thread() / lanes;
    int const o = Cut<Case>::place_of(c.block()) * lanes + c.thread() % lanes;
    long const begin = part * Cut<Case>::each, end = Cut<Case>::end(begin);
    Two<A> sum{0, 0};
    for (long r = begin + warp; o < Case::outputs && r < end; r += warps) {
      Two<A> const v = Case::term(a.of, o, r);
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
    leave(a, part, o, sum);
  }
};

/// Terms are neighbours: a block for each output, or for each part of it.
template <class Case> struct SumAlong {
  using Args = SumArgs<Case>;
  using A = typename Case::A;
  static constexpr int threads = 256, shared_bytes = 16 * static_cast<int>(sizeof(A));
  static constexpr bool alone = false;
  static constexpr int blocks = Cut<Case>::blocks * Cut<Case>::parts;
  template <class Ctx> CLEAVE_HD static void run(Ctx const& c, Args const& a) {
    auto* const line = reinterpret_cast<A*>(c.shared());
    int const part = Cut<Case>::part_of(c.block()), o = Cut<Case>::place_of(c.block());
    long const begin = part * Cut<Case>::each, end = Cut<Case>::end(begin);
    Two<A> sum{0, 0};
    for (long r = begin + c.thread(); r < end; r += threads) {
      Two<A> const v = Case::term(a.of, o, r);
      sum.first += v.first;
      sum.second += v.second;
    }
    sum.first = over_block<Sum>(c, sum.first, line);
    sum.second = over_block<Sum>(c, sum.second, line + 8);
    if (c.thread() == 0) leave(a, part, o, sum);
  }
};
template <class Case> using Summed = std::conditional_t<Cut<Case>::across, SumAcross<Case>, SumAlong<Case>>;

template <class Case> struct JoinSums {
  using Args = SumArgs<Case>;
  static constexpr int threads = 256, shared_bytes = 0;
  static constexpr bool alone = true;
  template <class Ctx> CLEAVE_HD static void run(Ctx const& c, Args const& a) {
    c.each(Case::outputs, [&](long o) {
      Two<typename Case::A> sum = a.parts[o];
      for (int p = 1; p < Cut<Case>::parts; ++p) {
        sum.first += a.parts[long{p} * Case::outputs + o].first;
        sum.second += a.parts[long{p} * Case::outputs + o].second;
      }
      Case::done(a.of, static_cast<int>(o), sum);
    });
  }
};

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
  static_assert(Cut<Case>::parts == 1 ||
                long{Cut<Case>::parts} * Case::outputs * long{sizeof(Two<typename Case::A>)} <= Q::workspace_bytes);
  typename K::Args const args{t, reinterpret_cast<Two<typename Case::A>*>(q.workspace)};
  q.template launch<K>(K::blocks, args);
  if constexpr (Cut<Case>::parts > 1) q.template launch<JoinSums<Case>>(blocks_each(Case::outputs), args);
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
